// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/transform/ptx_module.hpp"

namespace gpushare::ptx {

/// Does this instruction read %ctaid or %nctaid?
bool reads_block_index(const Module& module, const Instruction& instruction);

/// Can what it reads there be replaced by what a worker has instead? In a called function less can be.
bool is_replaceable(const Module& module, const Instruction& instruction, bool in_called_function);

}  // namespace gpushare::ptx
