// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/kernel_time.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/calibration/transfer_fit.hpp"
#include "core/model/errors.hpp"

namespace gpushare {
namespace {

/// The paper's estimates from an eighth of the grid are at most 15 % off (section 6.4).
constexpr double most_difference = 0.15;

constexpr std::size_t most_sizes = 256;

double per_block(const std::pair<const std::int64_t, Duration>& run) {
  return nanoseconds(run.second) / static_cast<double>(run.first);
}

using Runs = std::map<std::int64_t, Duration>;

/// Copies use the same model: a time per byte, and a latency.
double on_line(const Runs& runs, double blocks) {
  std::vector<TransferPoint> points;
  for (const auto& [size, time] : runs) points.push_back({static_cast<double>(size), nanoseconds(time)});
  const TransferFit line = fit_transfer(points);
  return line.ns_per_byte * blocks + line.latency_ns;
}

/// A straight line through the logarithms, by least squares.
double on_power(const Runs& runs, double blocks) {
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (const auto& [size, time] : runs) {
    const double log_blocks = std::log(static_cast<double>(size));
    const double log_time = std::log(nanoseconds(time));
    x += log_blocks;
    y += log_time;
    xx += log_blocks * log_blocks;
    xy += log_blocks * log_time;
  }
  const auto points = static_cast<double>(runs.size());
  const double slope = (points * xy - x * y) / (points * xx - x * x);
  const double at_one = (y - slope * x) / points;
  return std::exp(at_one + slope * std::log(blocks));
}

/// Far from all runs, a line may fall below zero, and a power rise above all bounds.
Duration some_time(double nanoseconds) {
  constexpr double longest = 1e15;
  return Duration(std::llrint(std::clamp(nanoseconds, 1.0, longest)));
}

}  // namespace

void KernelTime::add(std::int64_t blocks, Duration time) {
  GPUSHARE_EXPECT(blocks > 0 && time >= Duration::zero(), "a launch has blocks and takes time");
  if (runs_.insert_or_assign(blocks, std::max(time, Duration(1))).second) sizes_.push_back(blocks);
  if (sizes_.size() <= most_sizes) return;
  runs_.erase(sizes_.front());
  sizes_.pop_front();
}

bool KernelTime::is_linear() const {
  if (runs_.empty()) return true;
  const double largest = per_block(*runs_.rbegin());
  for (const auto& run : runs_) {
    if (std::abs(per_block(run) / largest - 1) > most_difference) return false;
  }
  return true;
}

std::optional<Duration> KernelTime::of(std::int64_t blocks) const {
  if (runs_.empty()) return std::nullopt;
  const auto count = static_cast<double>(blocks);
  if (is_linear()) return some_time(per_block(*runs_.rbegin()) * count);
  const bool has_fixed_part = per_block(*runs_.rbegin()) < per_block(*runs_.begin());
  return some_time(has_fixed_part ? on_line(runs_, count) : on_power(runs_, count));
}

}  // namespace gpushare
