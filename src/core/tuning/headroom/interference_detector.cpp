// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/headroom/interference_detector.hpp"

#include <algorithm>

#include "core/tuning/tuning.hpp"

namespace gpushare {

void InterferenceDetector::observe(const Event& event) {
  if (event.kind == EventKind::ApplicationEnded) applications_.erase(event.application);
  if (event.kind == EventKind::LaunchArrived) applications_[event.application].arrival = event.time;
  if (event.kind != EventKind::LaunchEnded) return;
  Turnarounds& seen = applications_[event.application];
  const Duration turnaround = event.time - seen.arrival;
  ++seen.launches;
  seen.shortest = std::min(seen.shortest, turnaround);
  seen.longest[1] = std::max(seen.longest[1], std::min(seen.longest[0], turnaround));
  seen.longest[0] = std::max(seen.longest[0], turnaround);
}

bool InterferenceDetector::needs_reserved_sms(ApplicationId application) const {
  const auto found = applications_.find(application);
  if (found == applications_.end() || found->second.launches < Tuning::launches_without_headroom) return false;
  const Turnarounds& seen = found->second;
  if (seen.shortest < seen.longest[1] / Tuning::delayed_slowdown) return true;
  const std::int64_t since_first_trial = seen.launches - Tuning::launches_without_headroom;
  return since_first_trial % Tuning::launches_between_trials < Tuning::launches_on_trial;
}

}  // namespace gpushare
