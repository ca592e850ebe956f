// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/transform/flow/control_flow.hpp"
#include "core/transform/waits/executed_reads.hpp"

namespace gpushare::ptx {

/// Does the function hold a loop that may continue until another block has done something? `reads`: those of the
/// function and its callees. Locks count, as do all loops that end by the result of an atomic, except for
/// compare-and-swaps that are retried with the value that they found.
bool has_waiting_loop(const Module& module, const Function& function, const ControlFlow& flow,
                      const ExecutedReads& reads);

}  // namespace gpushare::ptx
