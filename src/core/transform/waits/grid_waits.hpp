// SPDX-License-Identifier: Apache-2.0
// Barriers across the grid that a kernel implements itself, at which blocks wait for all others. In workers this would
// deadlock: the other blocks may not have begun, and do not begin before the waiting one has ended.
#pragma once

#include <optional>
#include <vector>

#include "core/transform/waits/function_analyses.hpp"

namespace gpushare::ptx {

/// A load (as its first token) with which a block may wait for later blocks: it is read in a loop, and the progress of
/// the others is compared with the size of the grid or with a parameter. Kernels that wait for earlier blocks only
/// (decoupled look-back, tickets, locks) compare with numbers. A grid size that the compiler has turned into a number
/// cannot be told from these.
std::optional<std::size_t> find_wait_for_all_blocks(const Module& module, FunctionAnalyses& analyses,
                                                    const Function& entry, const std::vector<const Function*>& called);

}  // namespace gpushare::ptx
