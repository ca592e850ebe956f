// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/held_up.hpp"

#include <algorithm>

namespace gpushare {
namespace {

constexpr int much_longer = 3;
constexpr int launches_without_room = 4;
/// The first of them may come before the SMs that are kept have become free.
constexpr int launches_on_trial = 8;
/// Whoever gained nothing by room is tried again: others were there then, perhaps.
constexpr int launches_between_trials = 100;

}  // namespace

void HeldUp::observe(const Event& event) {
  if (event.kind == EventKind::ApplicationEnded) applications_.erase(event.application);
  if (event.kind == EventKind::LaunchArrived) applications_[event.application].arrival = event.time;
  if (event.kind != EventKind::LaunchEnded) return;
  Known& known = applications_[event.application];
  const Duration turnaround = event.time - known.arrival;
  ++known.launches;
  known.shortest = std::min(known.shortest, turnaround);
  known.longest[1] = std::max(known.longest[1], std::min(known.longest[0], turnaround));
  known.longest[0] = std::max(known.longest[0], turnaround);
}

bool HeldUp::needs_room(ApplicationId application) const {
  const auto found = applications_.find(application);
  if (found == applications_.end() || found->second.launches < launches_without_room) return false;
  const Known& known = found->second;
  if (known.shortest < known.longest[1] / much_longer) return true;
  return (known.launches - launches_without_room) % launches_between_trials < launches_on_trial;
}

}  // namespace gpushare
