// SPDX-License-Identifier: Apache-2.0
// How instructions read memory that other blocks may write.
#pragma once

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// A load that sees writes of other blocks while the kernel runs (volatile, relaxed, acquire, .cv): its only purpose is
/// to poll them.
bool watches_other_blocks(const Instruction& instruction);

/// Sees them too, but mostly has other purposes: atomics with a result, and loads from the L2 (.cg).
bool sees_other_blocks(const Instruction& instruction);

/// Any other load of memory that other blocks may write. Behind a fence it sees their writes.
bool is_plain_load(const Instruction& instruction);

/// Orders memory accesses of this thread and of others.
bool is_memory_fence(const Instruction& instruction);

}  // namespace gpushare::ptx
