// SPDX-License-Identifier: Apache-2.0
// Which barriers may some threads of a block reach while others have returned? Those need care in a worker: in the
// original a returned thread leaves the barrier's count, in a worker it stays alive for the next task.
#pragma once

#include <cstdint>
#include <vector>

#include "core/transform/control_flow.hpp"

namespace gpushare::ptx {

/// Is this a barrier of the block (bar, barrier; not bar.warp.sync and not barrier.cluster)?
bool is_block_barrier(const Instruction& instruction);

/// Between which threads things may differ: those of a block, or the lanes of a warp.
enum class Among : std::uint8_t { Block, Warp };

/// The statements of the function that not all threads of a block, or of a warp, need to execute: between a branch on a
/// value that may differ between threads (from %tid, %laneid, %clock, loads other than of parameters, atomics, warp
/// exchanges, calls, or what was assigned under such a branch) and the point where all ways meet again, and what such a
/// value guards. One entry per statement.
std::vector<bool> divergent_statements(const Module& module, const Function& function, const ControlFlow& flow,
                                       Among among = Among::Block);

}  // namespace gpushare::ptx
