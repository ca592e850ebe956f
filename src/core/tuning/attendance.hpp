// SPDX-License-Identifier: Apache-2.0
// Who takes part in sharing: applications that run a launch, and those whose next launch is expected. Launches of one
// application follow one another with gaps of 20 to 40 us on a GPU, and giving somebody else the room for such a gap
// costs a change of quotas each way, 25 us and more. So whoever ends a launch is taken to be back soon, unless he has
// ended for good or did not come back in time the last time. Blocks cannot be interrupted, so that who has a latency
// bound may lose it by waiting for others' to end: his place can be kept for longer.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "core/engine/state.hpp"

namespace gpushare {

class Attendance {
 public:
  /// How long somebody's place is kept.
  explicit Attendance(Duration patience, Duration with_latency_bound = Duration::zero())
      : patience_(patience), patience_with_latency_bound_(std::max(patience, with_latency_bound)) {}

  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  struct Expected {
    ApplicationId application{};
    const Launch* launch = nullptr;  ///< its last one, which the next will resemble
    int max_residency = 0;
    double weight = 1;
    int priority = 0;

    static Expected like(const RunningLaunch& launch);
  };
  /// Who runs nothing now but is expected, by application.
  std::vector<Expected> expected(Time now) const;

  /// Has its last launch come within that time of the one before it?
  bool comes_straight_back(ApplicationId application) const {
    const auto found = applications_.find(application);
    return found != applications_.end() && found->second.came_back_in_time.value_or(false);
  }

  /// When the next of them is given up.
  std::optional<Time> next_loss(Time now) const;

 private:
  struct Known {
    Expected last;
    Launch launch;  // what it is like: the workload's own may have gone by the time that the next one is expected
    bool is_away = false;
    std::optional<bool> came_back_in_time{};  // the last time
    Duration patience{};
    Time left{};
  };

  bool is_expected(const Known& known, Time now) const {
    return known.is_away && known.came_back_in_time.value_or(true) && now < known.left + known.patience;
  }

  Duration patience_;
  Duration patience_with_latency_bound_;
  std::map<ApplicationId, Known> applications_;  // that have not ended
};

}  // namespace gpushare
