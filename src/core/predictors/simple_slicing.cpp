// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/simple_slicing.hpp"

#include <algorithm>

#include "core/model/errors.hpp"
#include "core/predictors/staircase.hpp"

namespace gpushare {
namespace {

/// Work left on one SM, in block times. The even split is an estimate: an SM that ran more than its part has none left.
double steps_left(const RunningLaunch& launch, SmId sm) {
  const auto sms = static_cast<int>(launch.per_sm.size());
  const std::int64_t left = blocks_per_sm(launch.here(), sms) - launch.per_sm[index(sm)].done;
  return static_cast<double>(std::max<std::int64_t>(0, left)) / launch.max_residency;
}

Duration scaled(double factor, Duration duration) {
  return Duration(static_cast<Duration::rep>(factor * nanoseconds(duration)));
}

}  // namespace

void SimpleSlicing::observe(const Event& event, const State& state) {
  changed_ = false;
  if (event.kind == EventKind::LaunchArrived || event.kind == EventKind::LaunchEnded) reslice();
  // A long session gives numbers of ended launches to new ones.
  const bool is_reused = event.kind == EventKind::LaunchArrived && index(event.operation) < launches_.size();
  if (is_reused) launches_[index(event.operation)] = {};
  if (event.kind != EventKind::BlockEnded) return;
  if (launches_.size() <= index(event.operation)) launches_.resize(index(event.operation) + 1);
  Sampled& sampled = launches_[index(event.operation)];
  if (sampled.per_sm.empty()) sampled.per_sm.resize(static_cast<std::size_t>(state.sms()));
  SmSample& here = sampled.per_sm[index(event.sm)];
  if (here.slice == slice_) return;
  here = {.block_time = event.time - event.started, .slice = slice_};
  sampled.latest = here.block_time;
  sampled.latest_slice = slice_;
  sampled.means.reset();
  changed_ = true;
}

void SimpleSlicing::reslice() { ++slice_; }

const SimpleSlicing::Sampled* SimpleSlicing::find(const RunningLaunch& launch) const {
  if (index(launch.id) >= launches_.size()) return nullptr;
  const Sampled& sampled = launches_[index(launch.id)];
  return sampled.latest_slice > 0 ? &sampled : nullptr;
}

bool SimpleSlicing::has_sample(const RunningLaunch& launch) const { return find(launch) != nullptr; }

bool SimpleSlicing::has_fresh_sample(const RunningLaunch& launch) const {
  const Sampled* sampled = find(launch);
  return sampled != nullptr && sampled->latest_slice == slice_;
}

const SimpleSlicing::Sampled& SimpleSlicing::sampled(const RunningLaunch& launch) const {
  const Sampled* sampled = find(launch);
  GPUSHARE_EXPECT(sampled != nullptr, "a block time is asked for after the first block has ended");
  return *sampled;
}

Duration SimpleSlicing::block_time(const RunningLaunch& launch, SmId sm) const {
  const Sampled& sampled = this->sampled(launch);
  const SmSample& here = sampled.per_sm[index(sm)];
  return here.slice > 0 ? here.block_time : sampled.latest;
}

Duration SimpleSlicing::remaining(const RunningLaunch& launch, SmId sm) const {
  return scaled(steps_left(launch, sm), block_time(launch, sm));
}

const SimpleSlicing::Means& SimpleSlicing::means(const RunningLaunch& launch) const {
  std::optional<Means>& known = sampled(launch).means;
  if (known && known->done == launch.done && known->here == launch.here()) return *known;
  Means& means = known.emplace(Means{.done = launch.done, .here = launch.here()});
  for (std::size_t sm = 0; sm < launch.per_sm.size(); ++sm) {
    means.block_time += block_time(launch, static_cast<SmId>(sm));
    means.remaining += remaining(launch, static_cast<SmId>(sm));
  }
  means.block_time /= static_cast<std::int64_t>(launch.per_sm.size());
  means.remaining /= static_cast<std::int64_t>(launch.per_sm.size());
  return means;
}

Duration SimpleSlicing::block_time(const RunningLaunch& launch) const { return means(launch).block_time; }

Duration SimpleSlicing::remaining(const RunningLaunch& launch) const { return means(launch).remaining; }

Duration SimpleSlicing::runtime(const RunningLaunch& launch, SmId sm, Time now) const {
  return launch.per_sm[index(sm)].active(now) + remaining(launch, sm);
}

}  // namespace gpushare
