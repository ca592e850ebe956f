// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/block_progress.hpp"

#include <algorithm>

namespace gpushare {
namespace {

double since_start(Time time) { return nanoseconds(time - Time{}); }

}  // namespace

void BlockProgress::observe(const Event& event) {
  switch (event.kind) {
    case EventKind::LaunchArrived:
      if (pending_ == 0) count_until(event.time);
      ++pending_;
      break;
    case EventKind::BlockStarted:
      in_flight_ += event.blocks;
      starts_ += event.blocks * since_start(event.time);
      break;
    case EventKind::BlockEnded:
      ended_ += event.blocks;
      took_ += event.blocks * nanoseconds(event.time - event.started);
      in_flight_ -= event.blocks;
      starts_ -= event.blocks * since_start(event.started);
      break;
    case EventKind::LaunchEnded:
      ++launches_;
      in_flight_ = 0;
      if (pending_ == 1) count_until(event.time);
      last_launch_ = {.blocks = ended_, .present = present(event.time)};
      pending_ = std::max<std::int64_t>(pending_ - 1, 0);
      break;
    default:
      break;
  }
  // Blocks are reported in groups with the mean of their starts, and groups end differently: drop the remainder.
  if (in_flight_ <= 0) starts_ = static_cast<double>(in_flight_ = 0);
}

void BlockProgress::count_until(Time now) {
  present_ = present(now);
  since_ = now;
  has_come_ = true;
}

double BlockProgress::present(Time now) const {
  if (!has_come_) return 0;
  return present_ + nanoseconds(pending_ > 0 ? now - since_ : std::min(now - since_, patience_));
}

double BlockProgress::block_time_since(const BlockProgress& before) const {
  return (took_ - before.took_) / static_cast<double>(ended_ - before.ended_);
}

std::optional<double> BlockProgress::rate_of_launches_since(const BlockProgress& before) const {
  if (!before.last_launch_ || launches_ == before.launches_) return std::nullopt;
  const double time = last_launch_->present - before.last_launch_->present;
  return static_cast<double>(last_launch_->blocks - before.last_launch_->blocks) / std::max(time, 1.0);
}

double BlockProgress::done(Time now, double block_time, double places) const {
  const auto all = static_cast<double>(in_flight_);
  if (in_flight_ == 0) return static_cast<double>(ended_);
  const double elapsed = since_start(now) - starts_ / all;
  const double begun = std::min(all, places) * elapsed / std::max(block_time, 1.0);
  return static_cast<double>(ended_) + std::clamp(begun, 0.0, all);
}

}  // namespace gpushare
