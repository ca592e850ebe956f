// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/transform/flow/cycles.hpp"

namespace gpushare::ptx {

/// A function's cycles and their statements.
struct Loops {
  const Function& function;
  const ControlFlow& flow;
  Cycles cycles{flow};

  /// Requires that the statement of this number is an instruction.
  const Instruction& instruction(std::size_t statement) const {
    return std::get<Instruction>(function.statements[statement]);
  }

  /// Calls `use` with every instruction of the cycle and the number of its statement, in order.
  template <typename Use>
  void for_each_instruction_in(std::size_t cycle, Use use) const {
    for (const std::size_t block : cycles.all()[cycle]) {
      for (std::size_t index = flow.blocks()[block].begin; index < flow.blocks()[block].end; ++index) {
        if (const auto* each = std::get_if<Instruction>(&function.statements[index])) use(index, *each);
      }
    }
  }
};

}  // namespace gpushare::ptx
