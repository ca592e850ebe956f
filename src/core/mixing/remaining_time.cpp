// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/remaining_time.hpp"

namespace gpushare {

void RemainingTime::observe(const Event& event, const State& state) {
  drain_.observe(event, state);
  if (event.kind != EventKind::LaunchArrived) return;
  if (rate_alone_.size() <= index(event.operation)) rate_alone_.resize(index(event.operation) + 1);
  const Kernel& kernel = state.find(event.operation)->launch->kernel;
  rate_alone_[index(event.operation)] = catalogue_.of(state.device(), kernel)->rate_alone;
}

std::optional<Duration> RemainingTime::of(const RunningLaunch& launch, const State& state) const {
  const double rate = rate_alone_[index(launch.id)];
  if (rate > 0) return Duration(static_cast<Duration::rep>(static_cast<double>(launch.unfinished()) / rate));
  if (drain_.has_sample(launch)) return drain_.remaining(launch, state.now());
  return std::nullopt;
}

}  // namespace gpushare
