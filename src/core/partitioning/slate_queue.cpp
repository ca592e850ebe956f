// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/slate_queue.hpp"

#include <algorithm>

namespace gpushare {
namespace {

bool is_kept(const SlateQueue::SlatePlace& place) { return place.kept_until.has_value(); }

}  // namespace

void SlateQueue::observe(const Event& event, const State& state) {
  release(event, state.now());
  for (const RunningLaunch& launch : state.running()) take(launch, state);
  std::ranges::sort(places_, {}, &SlatePlace::application);
}

void SlateQueue::release(const Event& event, Time now) {
  for (SlatePlace& place : places_) {
    if (event.kind == EventKind::LaunchEnded && place.operation == event.operation) place.kept_until = now + patience_;
    if (event.kind == EventKind::ApplicationEnded && place.application == event.application) place.kept_until = now;
  }
  std::erase_if(places_, [&](const SlatePlace& place) { return place.kept_until && *place.kept_until <= now; });
  if (std::ranges::all_of(places_, is_kept)) places_.clear();
}

void SlateQueue::take(const RunningLaunch& launch, const State& state) {
  const auto own = std::ranges::find(places_, launch.application, &SlatePlace::application);
  if (own != places_.end() && !own->kept_until) return;
  if (own != places_.end()) places_.erase(own);
  const auto most = std::min(together_, static_cast<std::size_t>(state.sms()));
  const auto kept = std::ranges::find_if(places_, is_kept);
  if (places_.size() == most && kept == places_.end()) return;
  const bool goes_with_all = std::ranges::all_of(places_, [&](const SlatePlace& place) {
    return is_kept(place) || classes_.go_together(state.device(), place.launch, *launch.launch);
  });
  if (!goes_with_all) return;
  if (places_.size() == most) places_.erase(kept);
  places_.push_back({.application = launch.application, .operation = launch.id, .launch = *launch.launch});
}

std::optional<Time> SlateQueue::wake_at() const {
  std::optional<Time> first;
  for (const SlatePlace& place : places_) {
    if (place.kept_until && (!first || *place.kept_until < *first)) first = place.kept_until;
  }
  return first;
}

}  // namespace gpushare
