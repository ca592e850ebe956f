// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/attendance.hpp"

#include <algorithm>

namespace gpushare {

Attendance::Expected Attendance::Expected::like(const RunningLaunch& launch) {
  return {.application = launch.application,
          .launch = launch.launch,
          .max_residency = launch.max_residency,
          .weight = launch.weight,
          .priority = launch.priority};
}

void Attendance::observe(const Event& event, const State& state) {
  const bool concerns = event.kind == EventKind::LaunchArrived || event.kind == EventKind::LaunchEnded ||
                        event.kind == EventKind::ApplicationEnded || event.kind == EventKind::PriorityChanged;
  if (!concerns) return;
  if (event.kind == EventKind::ApplicationEnded) {
    applications_.erase(event.application);
    return;
  }
  Known& known = applications_[event.application];
  if (event.kind == EventKind::PriorityChanged) {
    known.last.priority = static_cast<int>(event.block);
  } else if (event.kind == EventKind::LaunchArrived) {
    if (known.is_away) known.came_back_in_time = event.time - known.left <= known.patience;
    known.is_away = false;
    const RunningLaunch& launch = *state.find(event.operation);
    known.last = Expected::like(launch);
    known.launch = *launch.launch;
    known.patience = state.application(event.application).latency ? patience_with_latency_bound_ : patience_;
  } else {
    known.is_away = true;
    known.left = event.time;
  }
}

std::vector<Attendance::Expected> Attendance::expected(Time now) const {
  std::vector<Expected> found;
  for (const auto& [id, known] : applications_) {
    if (!is_expected(known, now)) continue;
    found.push_back(known.last);
    found.back().launch = &known.launch;
  }
  return found;
}

std::optional<Time> Attendance::next_loss(Time now) const {
  std::optional<Time> first;
  for (const auto& [id, known] : applications_) {
    if (!is_expected(known, now)) continue;
    const Time loss = known.left + known.patience;
    first = first ? std::min(*first, loss) : loss;
  }
  return first;
}

}  // namespace gpushare
