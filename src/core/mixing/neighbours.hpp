// SPDX-License-Identifier: Apache-2.0
// The divisions that differ from one by a little: what hill climbing tries next.
#pragma once

#include <vector>

#include "core/mixing/division.hpp"

namespace gpushare {

/// Where all SMs hold the same: a block of one kernel less, and what fits of another instead; or one more. Where SMs
/// differ: some SMs of one group for another.
std::vector<Division> neighbours_of(const Device& device, std::span<const Contender> contenders,
                                    const Division& division);

}  // namespace gpushare
