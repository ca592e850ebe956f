// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// Does this instruction read %ctaid or %nctaid?
bool reads_block_index(const Module& module, const Instruction& instruction);

/// Does it read all components at once (mov.v4.u32 {%r1, %r2, %r3, %r4}, %ctaid)?
bool reads_block_index_as_vector(const Module& module, const Instruction& instruction);

/// The four operands that such an instruction writes; "_" for an unused component. Empty in any other instruction.
std::vector<std::string> vector_destinations(const Module& module, const Instruction& instruction);

/// Can the read be replaced by the worker's value? In a called function fewer kinds of reads can.
bool is_replaceable(const Module& module, const Instruction& instruction, bool in_called_function);

}  // namespace gpushare::ptx
