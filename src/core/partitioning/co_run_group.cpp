// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/co_run_group.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// The next launch of a loop arrives with the end of the one before, or once the host has submitted it.
constexpr Duration patience = std::chrono::microseconds(5);

}  // namespace

bool CoRunGroup::observe(const Event& event, const State& state) {
  if (event.kind == EventKind::BlockStarted || event.kind == EventKind::BlockEnded) return false;
  bool changed = false;
  if (event.kind == EventKind::LaunchArrived) {
    const RunningLaunch& launch = *state.find(event.operation);
    changed = join({event.application, launch.launch->kernel.name, launch.max_residency, launch.blocks()});
  }
  if (event.kind == EventKind::LaunchEnded) {
    const auto member = std::ranges::find(members_, event.application, &Member::application);
    departures_[static_cast<std::size_t>(member - members_.begin())] = event.time + patience;
  }
  return drop_departed(event.time) || changed;
}

bool CoRunGroup::join(Member member) {
  const auto place = std::ranges::lower_bound(members_, member.application, {}, &Member::application);
  const auto position = place - members_.begin();
  const bool is_known = place != members_.end() && place->application == member.application;
  if (is_known) {
    departures_[static_cast<std::size_t>(position)].reset();
    const bool same_kernel = place->kernel == member.kernel;
    *place = std::move(member);
    return !same_kernel;
  }
  departures_.insert(departures_.begin() + position, std::nullopt);
  members_.insert(place, std::move(member));
  return true;
}

bool CoRunGroup::drop_departed(Time now) {
  bool changed = false;
  for (std::size_t i = members_.size(); i-- > 0;) {
    if (!departures_[i] || *departures_[i] > now) continue;
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(i));
    departures_.erase(departures_.begin() + static_cast<std::ptrdiff_t>(i));
    changed = true;
  }
  return changed;
}

std::optional<Time> CoRunGroup::next_departure() const {
  std::optional<Time> next;
  for (const auto& departure : departures_) {
    if (departure && (!next || *departure < *next)) next = departure;
  }
  return next;
}

}  // namespace gpushare
