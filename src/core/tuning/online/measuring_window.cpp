// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/measuring_window.hpp"

#include <algorithm>

#include "core/tuning/tuning.hpp"

namespace gpushare {

void MeasuringWindow::open(Time now, std::span<const BlockProgress> progress) {
  opened_ = now;
  before_.assign(progress.begin(), progress.end());
  for (BlockProgress& each : before_) each.forget_last_launch();
}

void MeasuringWindow::open_next(Time now, std::span<const BlockProgress> progress) {
  opened_ = now;
  for (std::size_t kernel = 0; kernel < before_.size(); ++kernel) {
    const bool has_ended = progress[kernel].ended_launches() > before_[kernel].ended_launches();
    before_[kernel] = progress[kernel];
    if (!has_ended) before_[kernel].forget_last_launch();
  }
}

Time MeasuringWindow::late_at() const { return opened_ + Tuning::lengths_until_late * length_; }

std::int64_t MeasuringWindow::blocks_since(std::span<const BlockProgress> progress, std::size_t kernel) const {
  return progress[kernel].ended_blocks() - before_[kernel].ended_blocks();
}

bool MeasuringWindow::has_enough(Time now, std::span<const BlockProgress> progress) const {
  for (std::size_t kernel = 0; kernel < before_.size(); ++kernel) {
    if (blocks_since(progress, kernel) < Tuning::least_blocks_per_window) return false;
    if (progress[kernel].ended_launches() == before_[kernel].ended_launches() && !is_late(now)) return false;
  }
  return true;
}

bool MeasuringWindow::has_enough_of(std::size_t kernel, Time now, std::span<const BlockProgress> progress) const {
  const std::int64_t blocks = blocks_since(progress, kernel);
  return blocks >= Tuning::least_blocks_per_window || (blocks > 0 && is_late(now));
}

bool MeasuringWindow::shows_nothing_of(std::size_t kernel, Time now, std::span<const BlockProgress> progress) const {
  return blocks_since(progress, kernel) == 0 && is_late(now);
}

Duration MeasuringWindow::longest() const { return Tuning::most_lengths * length_; }

double MeasuringWindow::block_time(const BlockProgress& progress, std::size_t kernel) const {
  return progress.block_time_since(before_[kernel]);
}

double MeasuringWindow::rate(Time now, const BlockProgress& progress, std::size_t kernel, double places) const {
  const BlockProgress& before = before_[kernel];
  if (const auto rate = progress.rate_of_launches_since(before)) return *rate;
  const double time = block_time(progress, kernel);
  const double done = progress.done(now, time, places) - before.done(opened_, time, places);
  return done / std::max(progress.present(now) - before.present(opened_), 1.0);
}

}  // namespace gpushare
