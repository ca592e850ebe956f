// SPDX-License-Identifier: Apache-2.0
// Predicts the speeds of kernels that run together, before they do: the contention model (simulation/contention.hpp)
// applied to any SM allocation. Needs each kernel's profile, and no measurement of kernels together.
//
// On an H100 it is 4 % off in the median of pairs' STP, and 12 % where both share every SM
// (docs/results/simulator-accuracy.md).
#pragma once

#include <span>
#include <vector>

#include "core/model/device.hpp"
#include "core/model/kernel.hpp"

namespace gpushare {

/// SMs that all hold the same blocks: so many of each kernel.
struct SmGroup {
  int sms = 0;
  std::vector<int> blocks{};  ///< per SM, by kernel
};

/// Blocks per nanosecond that each kernel ends under this SM allocation in the steady state, without arrivals and ends.
/// `groups` cover at most the device's SMs; the others are idle. Whether blocks fit an SM together is not checked: see
/// SmRoom. Where SMs serve the oldest block first (IssueOrder), `kernels` are in order of age, the oldest first:
/// between two that are launched again and again, the one with shorter launches is the younger one most of the time.
std::vector<double> corun_rates(const Device& device, std::span<const Kernel* const> kernels,
                                std::span<const SmGroup> groups);

/// Blocks per nanosecond of a kernel that has `sms` SMs, `residency` blocks on each, and the rest of the GPU idle.
double rate_alone(const Device& device, const Kernel& kernel, int sms, int residency);

/// On all SMs, as many blocks as fit: what normalised progress is measured by.
double rate_alone(const Device& device, const Kernel& kernel);

}  // namespace gpushare
