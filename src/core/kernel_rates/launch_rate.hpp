// SPDX-License-Identifier: Apache-2.0
// A launch has no more blocks in flight than it has blocks, so that it may be slower than its kernel: with 128 blocks
// and room for 5 on an SM, 26 of 30 SMs are as good as all, and 13 to 25 are all the same, since there are two rounds.
#pragma once

#include <cstddef>
#include <vector>

#include "core/kernel_rates/corun.hpp"
#include "core/model/workload.hpp"

namespace gpushare {

/// The first round of a launch on dedicated SMs, spread evenly; it is kernel `kernel` of `kernels`.
std::vector<SmGroup> first_round(const Launch& launch, int max_residency, int sms, std::size_t kernel = 0,
                                 std::size_t kernels = 1);

/// The last of several rounds does not fill its places: the share of all places that do something.
double places_used(const Launch& launch, int max_residency, int sms);

/// Blocks per nanosecond of a launch that has the device alone, over all its rounds.
double launch_rate_alone(const Device& device, const Launch& launch);

}  // namespace gpushare
