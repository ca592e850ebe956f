// SPDX-License-Identifier: Apache-2.0
// A kernel's block as the contention model sees it, in real numbers, and how fast a GPU full of such blocks is.
#pragma once

#include "core/model/device.hpp"
#include "core/model/kernel.hpp"

namespace gpushare {

/// BlockCost without rounding. Times in nanoseconds.
struct BlockFigures {
  double latency = 0;
  double issue = 0;
  double memory = 0;
  double cache_bytes = 0;  ///< moved between the SM and the last-level cache
  double dram_bytes = 0;   ///< of DRAM's bandwidth that it uses, which may be more than the bytes it moves
  double misses = 0;       ///< share of its time in memory that a busy DRAM makes longer
};

/// Blocks per nanosecond that end on `sms` SMs with `residency` such blocks on each and no other kernel.
double steady_rate(const BlockFigures& block, int sms, int residency, const OffSmBandwidth& off_sm);

/// The same in whole nanoseconds and bytes, as a kernel's cost. Variation and startup are left as they are by default.
BlockCost cost_of(const BlockFigures& block);

}  // namespace gpushare
