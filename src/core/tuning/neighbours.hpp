// SPDX-License-Identifier: Apache-2.0
// The divisions that differ from one by a little: what hill climbing tries next.
#pragma once

#include <vector>

#include "core/tuning/division.hpp"

namespace gpushare {

/// How far a neighbour is: so much of the blocks of one kernel that fit an SM, or of the SMs, goes to another.
constexpr double farthest_reach = 1.0 / 4;
/// A sixteenth of the SMs, and one block of sixteen: less can hardly be measured.
constexpr double nearest_reach = 1.0 / 16;

/// Where all SMs hold the same: blocks of one kernel less (one at least), and what fits of another instead; nearest by,
/// also one more or less of one alone. Where SMs differ: some SMs of one group for another; and first of all, if they
/// may share SMs, the kernels side by side on all of them, each with as many places as it has now, and far from that:
/// an even mix may be worse than parts of their own, and an uneven one better. Where launches take turns: equal parts,
/// and the same shares of every SM.
std::vector<Division> neighbours_of(const Device& device, std::span<const Contender> contenders,
                                    const Division& division, double reach);

}  // namespace gpushare
