// SPDX-License-Identifier: Apache-2.0
// The staircase model (SRTF section 3.1): blocks of equal length climb the SM in full steps of R.
#pragma once

#include "core/model/units.hpp"

namespace gpushare {

/// Blocks that one SM has to run when the grid is spread evenly: N = B / N_SM, rounded up.
constexpr std::int64_t blocks_per_sm(std::int64_t blocks, int sms) { return (blocks + sms - 1) / sms; }

/// Eq. 1: T = ceil(N / R) t for N blocks on one SM, R at a time, t each.
constexpr Duration staircase_runtime(std::int64_t blocks, int residency, Duration block_time) {
  return (blocks / residency + (blocks % residency != 0 ? 1 : 0)) * block_time;
}

}  // namespace gpushare
