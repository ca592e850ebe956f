// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/drain_rate.hpp"

#include "core/model/errors.hpp"

namespace gpushare {

void DrainRate::observe(const Event& event, const State& state) {
  if (event.kind == EventKind::LaunchArrived || event.kind == EventKind::LaunchEnded) reslice();
  // A long session gives numbers of ended launches to new ones.
  const bool is_reused = event.kind == EventKind::LaunchArrived && index(event.operation) < launches_.size();
  if (is_reused) launches_[index(event.operation)] = {};
  if (event.kind != EventKind::BlockEnded) return;
  if (launches_.size() <= index(event.operation)) launches_.resize(index(event.operation) + 1);
  SampledLaunch& known = launches_[index(event.operation)];
  const RunningLaunch& launch = *state.find(event.operation);
  if (known.slice != slice_) {
    known.history.emplace(launch, event.time, launch.done == event.blocks);
    known.slice = slice_;
  }
  known.history->add(event, launch);
}

bool DrainRate::has_sample(const RunningLaunch& launch) const {
  return index(launch.id) < launches_.size() && launches_[index(launch.id)].history.has_value();
}

Duration DrainRate::remaining(const RunningLaunch& launch, Time now) const {
  GPUSHARE_EXPECT(has_sample(launch), "what remains is asked for after the first block has ended");
  return launches_[index(launch.id)].history->remaining(launch, now);
}

}  // namespace gpushare
