// SPDX-License-Identifier: Apache-2.0
#include "core/policies/slate_queue.hpp"

#include <algorithm>

namespace gpushare {

void SlateQueue::observe(const Event& event, const State& state) {
  release(event, state.now());
  for (const RunningLaunch& launch : state.running()) take(launch, state);
  std::ranges::sort(places_, {}, &Place::application);
}

void SlateQueue::release(const Event& event, Time now) {
  for (Place& place : places_) {
    if (event.kind == EventKind::LaunchEnded && place.operation == event.operation) place.kept_until = now + patience_;
    if (event.kind == EventKind::ApplicationEnded && place.application == event.application) place.kept_until = now;
  }
  std::erase_if(places_, [&](const Place& place) { return place.kept_until && *place.kept_until <= now; });
  const auto is_kept = [](const Place& place) { return place.kept_until.has_value(); };
  if (std::ranges::all_of(places_, is_kept)) places_.clear();
}

void SlateQueue::take(const RunningLaunch& launch, const State& state) {
  const auto own = std::ranges::find(places_, launch.application, &Place::application);
  const bool returns = own != places_.end();
  if (returns && !own->kept_until) return;
  if (returns) places_.erase(own);
  // Newcomers wait until it is known who stays.
  const bool goes_with_all = std::ranges::all_of(places_, [&](const Place& place) {
    if (place.kept_until) return returns;
    return classes_.go_together(state.device(), *place.launch, *launch.launch);
  });
  if (places_.size() >= std::min(together_, static_cast<std::size_t>(state.sms())) || !goes_with_all) return;
  places_.push_back({.application = launch.application, .operation = launch.id, .launch = launch.launch});
}

std::optional<Time> SlateQueue::wake_at() const {
  std::optional<Time> first;
  for (const Place& place : places_) {
    if (place.kept_until && (!first || *place.kept_until < *first)) first = place.kept_until;
  }
  return first;
}

}  // namespace gpushare
