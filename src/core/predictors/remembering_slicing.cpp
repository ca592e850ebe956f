// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/remembering_slicing.hpp"

namespace gpushare {

void RememberingSlicing::observe(const Event& event, const State& state) {
  slicing_.observe(event, state);
  changed_ = slicing_.changed();
  if (!remembers_) return;
  sms_ = state.sms();
  if (event.kind == EventKind::LaunchEnded) under_way_.erase(event.operation);
  if (event.kind == EventKind::BlockEnded) add(event, *state.find(event.operation));
}

void RememberingSlicing::add(const Event& ended, const RunningLaunch& launch) {
  changed_ = changed_ && !remembers(launch);
  Blocks& blocks = under_way_[launch.id];
  blocks.time += ended.blocks * (ended.time - ended.started);
  blocks.ended += ended.blocks;
  if (launch.unfinished() > 0) return;
  block_ns_[key(launch)] = nanoseconds(blocks.time) / static_cast<double>(blocks.ended);
}

Duration RememberingSlicing::remaining(const RunningLaunch& launch) const {
  const double* known = block_ns_.peek(key(launch));
  if (known == nullptr) return slicing_.remaining(launch);
  const double at_a_time = static_cast<double>(launch.max_residency) * sms_;
  return Duration(static_cast<Duration::rep>(*known * static_cast<double>(launch.unfinished()) / at_a_time));
}

}  // namespace gpushare
