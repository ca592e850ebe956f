// SPDX-License-Identifier: Apache-2.0
// Votes, shuffles and the like wait for the lanes that their mask names, but not for those that have exited. In a
// worker a lane that has returned stays alive for the next task, so a mask that names it would make the others wait for
// ever.
#pragma once

#include <vector>

#include "core/transform/waits/function_analyses.hpp"

namespace gpushare::ptx {

/// In blocks of these shapes, the first instruction that the function, or a function that it calls, executes in a part
/// that not all lanes of a warp enter, and that waits, or calls a function that waits, for lanes by a mask that may
/// name lanes outside that part: a number or a computed mask, not the result of a vote or the like. Nullptr where there
/// is none.
const Instruction* find_wait_for_missing_lanes(const Module& module, FunctionAnalyses& analyses,
                                               const Function& function, const std::vector<const Function*>& called,
                                               const BlockShapes& blocks);

}  // namespace gpushare::ptx
