// SPDX-License-Identifier: Apache-2.0
// The highest urgency among the applications. One that has ended counts for some milliseconds longer, because the next
// request of the same client may come as a new application.
#pragma once

#include <limits>
#include <map>

#include "core/model/units.hpp"

namespace gpushare {

class HighestUrgency {
 public:
  void come(ApplicationId application, int urgency, Time now) {
    const auto [found, is_new] = applications_.try_emplace(application, urgency);
    if (!is_new && found->second == urgency) return;
    if (!is_new) empty_a_place(found->second, now);
    found->second = urgency;
    ++levels_[urgency].present;
  }

  void leave(ApplicationId application, Time now) {
    const auto found = applications_.find(application);
    if (found == applications_.end()) return;
    empty_a_place(found->second, now);
    applications_.erase(found);
  }

  void forget_past(Time now) {
    std::erase_if(levels_, [now](const auto& level) { return level.second.present == 0 && now >= level.second.until; });
  }

  bool anybody_there() const { return !applications_.empty(); }
  int highest() const { return levels_.empty() ? std::numeric_limits<int>::min() : levels_.rbegin()->first; }

 private:
  static constexpr Duration patience{5'000'000};

  struct Level {
    int present = 0;
    Time until{};  // the level counts until then without applications
  };

  void empty_a_place(int urgency, Time now) {
    Level& level = levels_[urgency];
    --level.present;
    level.until = now + patience;
  }

  std::map<ApplicationId, int> applications_;  // present
  std::map<int, Level> levels_;                // by urgency
};

}  // namespace gpushare
