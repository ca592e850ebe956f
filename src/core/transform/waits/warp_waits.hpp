// SPDX-License-Identifier: Apache-2.0
// Votes, shuffles and the like wait for the lanes that their mask names, but not for those that have exited. In a
// worker a lane that has returned stays alive for the next task: whoever names it would wait for ever.
#pragma once

#include <vector>

#include "core/transform/waits/function_analyses.hpp"

namespace gpushare::ptx {

/// In blocks of these shapes, the function, or a function that it calls, executes this instruction in a part that not
/// all lanes of a warp enter. It waits, or calls what waits, for lanes by a mask that may name those that do not come
/// by: one that is a number or made up otherwise, and not what a vote or the like has found. Nullptr where there is
/// none.
const Instruction* find_wait_for_missing_lanes(const Module& module, FunctionAnalyses& analyses,
                                               const Function& function, const std::vector<const Function*>& called,
                                               const BlockShapes& blocks);

}  // namespace gpushare::ptx
