// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/block_progress.hpp"

#include <algorithm>

namespace gpushare {
namespace {

double since_start(Time time) { return nanoseconds(time - Time{}); }

}  // namespace

void BlockProgress::observe(const Event& event) {
  if (event.kind == EventKind::BlockStarted) {
    in_flight_ += event.blocks;
    starts_ += event.blocks * since_start(event.time);
  } else if (event.kind == EventKind::BlockEnded) {
    ended_ += event.blocks;
    took_ += event.blocks * nanoseconds(event.time - event.started);
    in_flight_ -= event.blocks;
    starts_ -= event.blocks * since_start(event.started);
  } else if (event.kind == EventKind::LaunchEnded) {
    ++launches_;
    in_flight_ = 0;
  }
  // A group's start is a mean, and that of its ends another: what is left over goes.
  if (in_flight_ <= 0) starts_ = static_cast<double>(in_flight_ = 0);
}

double BlockProgress::block_time_since(const BlockProgress& before) const {
  return (took_ - before.took_) / static_cast<double>(ended_ - before.ended_);
}

double BlockProgress::done(Time now, double block_time, double places) const {
  const auto all = static_cast<double>(in_flight_);
  if (in_flight_ == 0) return static_cast<double>(ended_);
  const double elapsed = since_start(now) - starts_ / all;
  const double begun = std::min(all, places) * elapsed / std::max(block_time, 1.0);
  return static_cast<double>(ended_) + std::clamp(begun, 0.0, all);
}

}  // namespace gpushare
