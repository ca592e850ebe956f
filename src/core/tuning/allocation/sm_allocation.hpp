// SPDX-License-Identifier: Apache-2.0
// How SMs are allocated to kernels that run side by side: groups of SMs that all hold the same blocks. One group with
// all SMs is a residency mix, a group per kernel is a partition, and anything between is possible. Pure functions.
#pragma once

#include <span>
#include <vector>

#include "core/engine/plan.hpp"
#include "core/kernel_rates/corun.hpp"
#include "core/model/device.hpp"
#include "core/model/kernel.hpp"

namespace gpushare {

/// A kernel that contends for SMs.
struct Contender {
  const Kernel* kernel = nullptr;
  int max_residency = 0;
  double weight = 1;
  double min_speed = 0;  ///< share of its speed alone that it has to keep
};

/// In the order of the SMs, all of which it covers. Empty: the kernels do not fit side by side.
using SmAllocation = std::vector<SmGroup>;

bool same_allocation(const SmAllocation& one, const SmAllocation& other);

/// Can one SM hold so many blocks of each kernel, and will it? A launch at its maximum residency keeps the room for
/// itself (plan.hpp), so that only one kernel can be at it beside others: the one that is ranked last. Kernels that
/// need different splits of the SM's memory exclude one another.
bool can_share_an_sm(const Device& device, std::span<const Contender> contenders, std::span<const int> blocks);

/// Adds blocks as long as any fits, each time to the kernel with the smallest share of its maximum residency.
void fill(const Device& device, std::span<const Contender> contenders, std::vector<int>& blocks);

/// All SMs hold the n-th part of the maximum residency of each of n kernels, filled up; an equal partition where these
/// parts do not fit an SM. Empty where there are also more contenders than SMs.
SmAllocation proportional_allocation(const Device& device, std::span<const Contender> contenders);

/// Can an SM hold the n-th part of the maximum residency of each of n kernels?
bool may_share_sms(const Device& device, std::span<const Contender> contenders);

/// Serial execution: every kernel may fill every SM, so that launches run one after the other.
SmAllocation serial_allocation(const Device& device, std::span<const Contender> contenders);
bool is_serial(const SmAllocation& allocation, std::span<const Contender> contenders);

/// SMs of its own for each kernel, the same number for all but for rounding. Some get none where there are more
/// contenders than SMs.
SmAllocation equal_partition(const Device& device, std::span<const Contender> contenders);

/// The quota of one of the kernels.
Quota quota_in(const SmAllocation& allocation, std::size_t kernel);

/// The blocks of one of the kernels that are resident on all SMs together.
int blocks_in(const SmAllocation& allocation, std::size_t kernel);

/// Is this kernel at its maximum residency on SMs that it shares? Then it has to be ranked behind the others there.
bool fills_shared_sms(const SmAllocation& allocation, std::size_t kernel, int max_residency);

}  // namespace gpushare
