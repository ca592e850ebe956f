// SPDX-License-Identifier: Apache-2.0
// Which barriers may some threads of a block reach while others have returned? Those need care in a worker: in the
// original a returned thread leaves the barrier's count, in a worker it stays alive for the next task.
#pragma once

#include <unordered_set>
#include <vector>

#include "core/transform/flow/control_flow.hpp"
#include "core/transform/flow/thread_group.hpp"

namespace gpushare::ptx {

/// Is this a barrier of the block (bar, barrier; not bar.warp.sync and not barrier.cluster)?
bool is_block_barrier(const Instruction& instruction);

/// What a load finds at the same address is the same for all threads, if one of them loads it for all.
using LoadsForAll = std::unordered_set<std::size_t>;

/// The statements of the function that not all threads of the group need to execute: between a branch on a value that
/// may differ between them (from %tid, %laneid, %clock, loads other than of parameters, atomics, warp exchanges, calls,
/// or what was assigned under such a branch) and the point where all ways meet again, and what such a value guards. One
/// entry per statement. `for_all`: the loads, as statements, that are done by one thread of a block for all.
/// `together`: blocks at whose end the threads that are asked about go the same way.
std::vector<bool> divergent_statements(const Module& module, const Function& function, const ControlFlow& flow,
                                       const ThreadGroup& group, const LoadsForAll& for_all = {},
                                       const std::unordered_set<std::size_t>& together = {});

/// Those of the divergent statements at which threads may be missing that have left the function. The others are
/// skipped by threads that then wait for all others of the block at a barrier: whoever waits for them there has waited
/// for them in the original as well. Of lanes of warps.
std::vector<bool> abandoned_statements(const Module& module, const Function& function, const ControlFlow& flow,
                                       const ThreadGroup& group, const std::unordered_set<std::size_t>& together = {});

/// The blocks at whose end threads of the group may go different ways. One entry per block.
std::vector<bool> divergent_choices(const Module& module, const Function& function, const ControlFlow& flow,
                                    const ThreadGroup& group);

/// The loads that one thread of a block could do for all of them, given that it does: those from an address that is the
/// same for all, at places that all come by.
LoadsForAll find_loads_for_all(const Module& module, const Function& function, const ControlFlow& flow);

}  // namespace gpushare::ptx
