// SPDX-License-Identifier: Apache-2.0
// The allocations that differ from one by a step: the candidates of a hill climb.
#pragma once

#include <span>
#include <vector>

#include "core/tuning/allocation/sm_allocation.hpp"

namespace gpushare {

/// `step_size`: the share of one kernel's blocks per SM, or of the SMs, that goes to another kernel.
/// - All SMs alike: fewer blocks of one kernel (one at least), and as many of another as fit instead; at the smallest
///   step also one block more or less of a single kernel.
/// - SMs differ: some SMs of one group for another; before these, if the kernels may share SMs, all of them on all SMs
///   with as many blocks as they have now, and at the largest step the neighbours of that: an even mix may be worse
///   than a partition, and an uneven one better.
/// - Serial execution: an equal partition, and the proportional allocation.
std::vector<SmAllocation> neighbours_of(const Device& device, std::span<const Contender> contenders,
                                        const SmAllocation& allocation, double step_size);

}  // namespace gpushare
