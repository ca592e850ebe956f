// SPDX-License-Identifier: Apache-2.0
// How busy the memory beyond the SMs is, and what blocks that wait for it take: utilisations that depend on the block
// times, which depend on them (contention.hpp).
#pragma once

#include <span>
#include <vector>

#include "core/simulation/contention.hpp"

namespace gpushare {

/// The load of each group of SMs at which demand and delay agree. `shares` are those of the traffics that do not wait,
/// which are given.
std::vector<MemoryLoad> memory_loads(std::span<const Traffic> traffics, std::span<const double> shares,
                                     const OffSmBandwidth& off_sm);

/// Nanoseconds of a block under this load.
double loaded_block_time(const Traffic& traffic, const MemoryLoad& load);

}  // namespace gpushare
