// SPDX-License-Identifier: Apache-2.0
// Which barriers may some threads of a block reach while others have returned? Workers have to treat those specially:
// in the original a returned thread leaves the barrier's count, in a worker it stays alive for the next task.
#pragma once

#include <unordered_set>
#include <vector>

#include "core/transform/flow/control_flow.hpp"
#include "core/transform/flow/thread_group.hpp"

namespace gpushare::ptx {

/// Is this a barrier of the block (bar, barrier; not bar.warp.sync and not barrier.cluster)?
bool is_block_barrier(const Instruction& instruction);

/// A load from one address gives the same value to all threads, if one of them loads it for all.
using LoadsForAll = std::unordered_set<std::size_t>;

/// The statements of the function that not all threads of the group need to execute: between a branch on a value that
/// may differ between them (from %tid, %laneid, %clock, loads other than of parameters, atomics, warp exchanges, calls,
/// or a value assigned under such a branch) and the point where all paths meet again, and the statements that such a
/// value guards. One entry per statement. `for_all`: the loads, as statements, that are done by one thread of a block
/// for all. `together`: blocks after which the threads of the group take the same path.
std::vector<bool> divergent_statements(const Module& module, const Function& function, const ControlFlow& flow,
                                       const ThreadGroup& group, const LoadsForAll& for_all = {},
                                       const std::unordered_set<std::size_t>& together = {});

/// Those of the divergent statements at which threads may be missing because they have left the function. The others
/// are skipped by threads that then wait for all others of the block at a barrier: a wait for those threads there
/// happens in the original as well. For lanes of warps.
std::vector<bool> abandoned_statements(const Module& module, const Function& function, const ControlFlow& flow,
                                       const ThreadGroup& group, const std::unordered_set<std::size_t>& together = {});

/// The blocks after which threads of the group may take different paths. One entry per block.
std::vector<bool> divergent_choices(const Module& module, const Function& function, const ControlFlow& flow,
                                    const ThreadGroup& group);

/// The loads that one thread of a block could do for all of them, given that it does: those from an address that is the
/// same for all, at places that all threads execute.
LoadsForAll find_loads_for_all(const Module& module, const Function& function, const ControlFlow& flow);

}  // namespace gpushare::ptx
