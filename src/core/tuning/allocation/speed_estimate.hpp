// SPDX-License-Identifier: Apache-2.0
// The speeds of kernels under an allocation, each relative to its speed alone, predicted or measured, and what they are
// worth. Pure functions.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "core/tuning/allocation/sm_allocation.hpp"

namespace gpushare {

/// The bounds that hold for a co-run set as a whole; each kernel has a minimum speed besides.
struct Bounds {
  double antt = std::numeric_limits<double>::infinity();  ///< the largest mean slowdown
};

struct SpeedEstimate {
  std::vector<double> speeds{};  ///< rate / rate alone, by contender
  double throughput = 0;         ///< sum of weight * speed, weights being 1 in the mean: STP where all are equal
  double slowest = 0;            ///< the least speed
  double min_speed_ratio = 0;    ///< the least speed relative to its minimum: from 1 on all minimum speeds are kept
  double antt = 0;               ///< mean of 1 / speed

  bool keeps(const Bounds& bounds) const;

  /// Compares allocations. One that keeps all bounds is better than one that does not; among the former the throughput
  /// counts. Minimum speeds that cannot all be kept are missed by the same share, so that none is kept at the cost of
  /// another; after them comes the mean slowdown.
  double value(const Bounds& bounds) const;
};

/// A speed relative to the contender's minimum speed; without one, to Tuning::least_speed.
double ratio_to_min_speed(double speed, const Contender& contender);

/// The contender with the smallest ratio_to_min_speed().
std::size_t furthest_below_min_speed(const SpeedEstimate& estimate, std::span<const Contender> contenders);

/// The estimate with these speeds; weights count relative to their mean.
SpeedEstimate estimate_from(std::vector<double> speeds, std::span<const Contender> contenders);

}  // namespace gpushare
