// SPDX-License-Identifier: Apache-2.0
// How many neighbouring SMs each of some launches should have: the division that promises most by the contention model,
// which knows each kernel's speed on any number of SMs and what the kernels take from one another beyond them.
//
// A launch of few blocks is slower than its kernel: with 128 blocks, and room for 5 on an SM, 13 to 25 SMs are all the
// same to it, since there are two rounds. That counts too.
#pragma once

#include <span>
#include <vector>

#include "core/state.hpp"

namespace gpushare {

enum class RangeGoal {
  Throughput,  ///< the sum of normalised progress, and a tenth of the smallest, which decides between equal sums
  Balance,     ///< the smallest, so that equal amounts of work end together, and a tenth of the sum
};

/// SMs for each, at least one, that add up to all of the device. Requires kernels with profiles and, at most, as many
/// launches as SMs.
std::vector<int> sm_ranges(const Device& device, std::span<const RunningLaunch* const> launches, RangeGoal goal);

}  // namespace gpushare
