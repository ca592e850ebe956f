// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/transform/called_functions.hpp"
#include "core/transform/control_flow.hpp"

namespace gpushare::ptx {

/// Does the function hold a loop that may go on until another block has done something? `news`: whether its calls
/// arrive at reads that see other blocks. Locks count, as do all loops that end by the result of an atomic, but for
/// compare-and-swaps that are tried again with what they have found.
bool has_waiting_loop(const Module& module, const Function& function, const ControlFlow& flow,
                      const CalledInstructions& news);

}  // namespace gpushare::ptx
