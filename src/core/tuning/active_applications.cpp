// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/active_applications.hpp"

#include <algorithm>

namespace gpushare {

ActiveApplications::PredictedArrival ActiveApplications::PredictedArrival::like(const RunningLaunch& launch) {
  return {.application = launch.application,
          .launch = launch.launch,
          .max_residency = launch.max_residency,
          .weight = launch.weight,
          .priority = launch.priority};
}

void ActiveApplications::observe(const Event& event, const State& state) {
  const bool is_relevant = event.kind == EventKind::LaunchArrived || event.kind == EventKind::LaunchEnded ||
                           event.kind == EventKind::ApplicationEnded || event.kind == EventKind::PriorityChanged;
  if (!is_relevant) return;
  if (event.kind == EventKind::ApplicationEnded) {
    applications_.erase(event.application);
    return;
  }
  LaunchPattern& pattern = applications_[event.application];
  if (event.kind == EventKind::PriorityChanged) {
    pattern.last.priority = static_cast<int>(event.block);
  } else if (event.kind == EventKind::LaunchArrived) {
    if (pattern.is_away) pattern.came_back_in_time = event.time - pattern.left <= pattern.patience;
    pattern.is_away = false;
    const RunningLaunch& launch = *state.find(event.operation);
    pattern.last = PredictedArrival::like(launch);
    pattern.launch = *launch.launch;
    pattern.patience = state.application(event.application).latency ? patience_with_latency_bound_ : patience_;
  } else {
    pattern.is_away = true;
    pattern.left = event.time;
  }
}

std::vector<ActiveApplications::PredictedArrival> ActiveApplications::predicted_arrivals(Time now) const {
  std::vector<PredictedArrival> found;
  for (const auto& [id, pattern] : applications_) {
    if (!is_predicted(pattern, now)) continue;
    found.push_back(pattern.last);
    found.back().launch = &pattern.launch;
  }
  return found;
}

std::optional<Time> ActiveApplications::next_expiry(Time now) const {
  std::optional<Time> first;
  for (const auto& [id, pattern] : applications_) {
    if (!is_predicted(pattern, now)) continue;
    const Time expiry = pattern.left + pattern.patience;
    first = first ? std::min(*first, expiry) : expiry;
  }
  return first;
}

}  // namespace gpushare
