// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/kernel_time.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"

namespace gpushare {
namespace {

/// The paper's estimates from an eighth of the grid are at most 15 % off (section 6.4).
constexpr double most_difference = 0.15;

double per_block(const std::pair<const std::int64_t, Duration>& run) {
  return nanoseconds(run.second) / static_cast<double>(run.first);
}

}  // namespace

void KernelTime::add(std::int64_t blocks, Duration time) {
  GPUSHARE_EXPECT(blocks > 0 && time >= Duration::zero(), "a launch has blocks and takes time");
  runs_[blocks] = std::max(time, Duration(1));
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
  if (is_linear()) return Duration(std::llrint(per_block(*runs_.rbegin()) * static_cast<double>(blocks)));
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (const auto& [size, time] : runs_) {
    const double log_blocks = std::log(static_cast<double>(size));
    const double log_time = std::log(nanoseconds(time));
    x += log_blocks;
    y += log_time;
    xx += log_blocks * log_blocks;
    xy += log_blocks * log_time;
  }
  const auto runs = static_cast<double>(runs_.size());
  const double slope = (runs * xy - x * y) / (runs * xx - x * x);
  const double at_one = (y - slope * x) / runs;
  return Duration(std::llrint(std::exp(at_one + slope * std::log(static_cast<double>(blocks)))));
}

}  // namespace gpushare
