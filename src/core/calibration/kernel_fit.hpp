// SPDX-License-Identifier: Apache-2.0
// Fits the contention model of one kernel to its measured rates in parts of a GPU, by least squares on the logarithms
// of rates (a relative error counts alike at every point). Never sees pairs: what kernels do to one another follows.
#pragma once

#include <span>
#include <vector>

#include "core/calibration/block_figures.hpp"

namespace gpushare {

/// How fast a kernel was with so many blocks on each of so many SMs.
struct RatePoint {
  int sms = 0;
  int residency = 0;
  double blocks_per_ns = 0;
  double weight = 1;  ///< of its error; 0: it only gets a residual
};

/// What hardware counters say of a block. Fitted figures may differ, since accesses differ in what they cost and how
/// many are on their way at a time, but not by much: each is one more point to fit, with a relative error of its
/// `spread`.
struct BlockTraffic {
  double cache_bytes = 0;
  double dram_bytes = 0;
  double memory = 0;  ///< nanoseconds that the accesses of a warp would take one after the other, at most; 0: not known
  double cache_spread = 0.25;
  double dram_spread = 0.15;
  double memory_spread = 1.5;
  double memory_excess_spread = 0.2;  ///< where the fitted time is longer
};

struct KernelFit {
  BlockFigures block;
  std::vector<double> residuals;  ///< model / measured - 1 of every point's rate
};

/// Throws InvalidInput if there is no point, or one that cannot be, or traffic that is negative or not finite.
KernelFit fit_kernel(std::span<const RatePoint> points, const BlockTraffic& traffic, const OffSmBandwidth& off_sm);

}  // namespace gpushare
