// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/held_up.hpp"

#include <algorithm>

namespace gpushare {
namespace {

constexpr int much_longer = 3;

}  // namespace

void HeldUp::observe(const Event& event) {
  if (event.kind == EventKind::ApplicationEnded) applications_.erase(event.application);
  if (event.kind == EventKind::LaunchArrived) applications_[event.application].arrival = event.time;
  if (event.kind != EventKind::LaunchEnded) return;
  Known& known = applications_[event.application];
  const Duration turnaround = event.time - known.arrival;
  if (known.shortest < turnaround / much_longer) known.held_up = true;
  known.shortest = std::min(known.shortest, turnaround);
}

bool HeldUp::has_been(ApplicationId application) const {
  const auto found = applications_.find(application);
  return found != applications_.end() && found->second.held_up;
}

}  // namespace gpushare
