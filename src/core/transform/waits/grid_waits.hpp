// SPDX-License-Identifier: Apache-2.0
// Home-made barriers across the grid, whose blocks wait for all others. As workers the others may not have begun, and
// do not begin before the one that waits has ended.
#pragma once

#include <optional>
#include <vector>

#include "core/transform/waits/function_analyses.hpp"

namespace gpushare::ptx {

/// A load (as its first token) with which a block may wait for blocks behind it: it is read in a loop, and how far the
/// others have come is measured by the size of the grid or by a parameter. Kernels that wait for earlier blocks alone
/// (decoupled look-back, tickets, locks) compare with numbers. What is a number only because the compiler knew the
/// size of the grid is not told from these.
std::optional<std::size_t> find_wait_for_all_blocks(const Module& module, FunctionAnalyses& analyses,
                                                    const Function& entry, const std::vector<const Function*>& called);

}  // namespace gpushare::ptx
