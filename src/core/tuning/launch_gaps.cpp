// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/launch_gaps.hpp"

#include <algorithm>

namespace gpushare {

void LaunchGaps::observe(const Event& event) {
  if (event.kind == EventKind::ApplicationEnded) applications_.erase(event.application);
  if (event.kind != EventKind::BlockStarted && event.kind != EventKind::BlockEnded &&
      event.kind != EventKind::LaunchEnded) {
    return;
  }
  Gap& gap = applications_[event.application];
  if (event.kind == EventKind::BlockEnded) {
    gap.last_end = event.time;
  } else if (event.kind == EventKind::LaunchEnded) {
    gap.is_open = true;
  } else if (gap.is_open) {
    const double length = nanoseconds(event.time - gap.last_end);
    gap.shortest = gap.shortest < 0 ? length : std::min(gap.shortest, length);
    gap.is_open = false;
  }
}

double LaunchGaps::of(ApplicationId application, const Device& device) const {
  const auto found = applications_.find(application);
  if (found != applications_.end() && found->second.shortest >= 0) return found->second.shortest;
  return nanoseconds(device.delays.launch + device.delays.completion);
}

}  // namespace gpushare
