// SPDX-License-Identifier: Apache-2.0
// The applications that a session has, by their numbers, which never come again. Those that have ended are forgotten,
// so memory does not grow; a number below the next one is then that of an application that has been.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "core/model/errors.hpp"
#include "core/model/units.hpp"

namespace gpushare {

class PresentApplications {
 public:
  ApplicationId add(std::string name) {
    const auto id = static_cast<ApplicationId>(next_++);
    present_.emplace(id, PresentApplication{std::move(name)});
    return id;
  }

  void forget(ApplicationId application) { present_.erase(application); }

  // Throw InvalidInput for a number that no application has had.
  bool is_present(ApplicationId application) const { return find(application) != nullptr; }
  /// False: it was withdrawn already, or has ended.
  bool withdraw(ApplicationId application) {
    const PresentApplication* found = find(application);
    if (found == nullptr || found->is_withdrawn) return false;
    present_.at(application).is_withdrawn = true;
    return true;
  }
  /// Throws Cancelled where it was withdrawn or has ended.
  void require_accepts(ApplicationId application) const {
    const PresentApplication* found = find(application);
    if (found == nullptr) throw Cancelled("this application has been cancelled");
    if (found->is_withdrawn) throw Cancelled("application '" + found->name + "' has been cancelled");
  }

 private:
  struct PresentApplication {
    std::string name;
    bool is_withdrawn = false;
  };

  /// nullptr: it has ended.
  const PresentApplication* find(ApplicationId application) const {
    const auto number = static_cast<std::int32_t>(application);
    require_lazily(number >= 0 && number < next_,
                   [&] { return "this session has no application " + std::to_string(number); });
    const auto found = present_.find(application);
    return found != present_.end() ? &found->second : nullptr;
  }

  std::map<ApplicationId, PresentApplication> present_;
  std::int32_t next_ = 0;
};

}  // namespace gpushare
