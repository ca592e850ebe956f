// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/remaining_time.hpp"

namespace gpushare {

void RemainingTime::observe(const Event& event, const State& state) {
  if (event.kind == EventKind::LaunchArrived) meet(*state.find(event.operation), state.device());
  // Without unprofiled launches no drain rate is asked for, and to follow it costs as much as all the rest. The end of
  // a launch that was followed is still observed.
  if (unprofiled_.empty() && event.kind != EventKind::LaunchEnded) return;
  drain_.observe(event, state);
  if (event.kind == EventKind::LaunchEnded) unprofiled_.erase(event.operation);
}

void RemainingTime::meet(const RunningLaunch& launch, const Device& device) {
  if (rate_alone_.size() <= index(launch.id)) rate_alone_.resize(index(launch.id) + 1);
  const double rate = catalogue_.find(device, launch.launch->kernel)->rate_alone;
  rate_alone_[index(launch.id)] = rate;
  if (rate <= 0) unprofiled_.insert(launch.id);
}

std::optional<Duration> RemainingTime::of(const RunningLaunch& launch, const State& state) const {
  const double rate = rate_alone_[index(launch.id)];
  if (rate > 0) return Duration(static_cast<Duration::rep>(static_cast<double>(launch.unfinished()) / rate));
  if (drain_.has_sample(launch)) return drain_.remaining(launch, state.now());
  return std::nullopt;
}

}  // namespace gpushare
