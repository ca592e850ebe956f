// SPDX-License-Identifier: Apache-2.0
// Launches that run beside whatever is planned: admitted on reserved SMs. Their events leave the plan as it is, and
// they come so often that each of them has to cost little.
#pragma once

#include <set>

#include "core/engine/event.hpp"

namespace gpushare {

class ExcludedLaunches {
 public:
  void add(OperationId launch) { launches_.insert(launch); }
  bool contains(OperationId launch) const { return launches_.contains(launch); }

  /// Feed every event. Does it concern a launch or an application that is planned for?
  bool observe(const Event& event) {
    const bool concerns_plan = concerns(event);
    if (event.kind == EventKind::LaunchEnded) launches_.erase(event.operation);
    return concerns_plan;
  }

 private:
  bool concerns(const Event& event) {
    switch (event.kind) {
      case EventKind::LaunchArrived:
      case EventKind::LaunchEnded:
        if (!launches_.contains(event.operation)) {
          applications_.erase(event.application);
          return true;
        }
        applications_.insert(event.application);
        return false;
      case EventKind::BlockStarted:
      case EventKind::BlockEnded:
        return launches_.empty() || !launches_.contains(event.operation);
      case EventKind::ApplicationEnded:
        return applications_.erase(event.application) == 0;
      default:
        return true;
    }
  }

  std::set<OperationId> launches_;        // that have not ended
  std::set<ApplicationId> applications_;  // the latest launch of which was excluded
};

}  // namespace gpushare
