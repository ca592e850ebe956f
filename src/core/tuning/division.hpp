// SPDX-License-Identifier: Apache-2.0
// How the SMs are divided among kernels: groups of SMs that all hold the same blocks. One group on all SMs is a
// residency mix, a group per kernel an SM partition, and anything between is possible.
#pragma once

#include <span>
#include <vector>

#include "core/engine/plan.hpp"
#include "core/kernel_rates/corun.hpp"
#include "core/model/device.hpp"
#include "core/model/kernel.hpp"

namespace gpushare {

/// Somebody who wants a part of the GPU.
struct Contender {
  const Kernel* kernel = nullptr;
  int max_residency = 0;
  double weight = 1;
  double floor = 0;  ///< share of its speed alone that it is to keep
};

/// In the order of the SMs, all of which it covers.
using Division = std::vector<SmGroup>;

bool same_division(const Division& one, const Division& other);

/// Can one SM hold so many blocks of each, and will it? A launch at its maximum residency keeps the room for itself
/// (plan.hpp), so that only one kernel can be at it beside others: the one that is ranked last. And kernels for which
/// the SM's memory is split differently keep one another out.
bool can_share_an_sm(const Device& device, std::span<const Contender> contenders, std::span<const int> blocks);

/// As many blocks as fit of each in turn, beginning with those that have least of what they could have.
void fill(const Device& device, std::span<const Contender> contenders, std::vector<int>& blocks);

/// All SMs hold the n-th part of what each could have there, and what fits besides; an SM each where that is too much.
/// Empty where there are more contenders than SMs, too.
Division proportional_division(const Device& device, std::span<const Contender> contenders);

/// Can an SM hold a part of what each of them could have there?
bool may_share_sms(const Device& device, std::span<const Contender> contenders);

/// Nobody beside anybody: everybody may fill every SM, and launches take turns there.
Division in_turns(const Device& device, std::span<const Contender> contenders);
bool takes_turns(const Division& division, std::span<const Contender> contenders);

/// SMs of his own for each, as many for all. Somebody has none where there are more contenders than SMs.
Division equal_parts(const Device& device, std::span<const Contender> contenders);

/// What a division means for one of the kernels.
Quota quota_in(const Division& division, std::size_t kernel);

/// How many of its blocks a division has resident.
int blocks_in(const Division& division, std::size_t kernel);

/// Does this kernel fill SMs that it shares? Then it has to be ranked behind those it shares them with.
bool holds_shared_room(const Division& division, std::size_t kernel, int max_residency);

}  // namespace gpushare
