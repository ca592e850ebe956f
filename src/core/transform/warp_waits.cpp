// SPDX-License-Identifier: Apache-2.0
#include "core/transform/warp_waits.hpp"

#include <algorithm>
#include <unordered_set>

#include "core/transform/asked_masks.hpp"
#include "core/transform/called_functions.hpp"
#include "core/transform/data_flow.hpp"
#include "core/transform/instructions.hpp"

namespace gpushare::ptx {
namespace {

/// Not the aligned ones (mma, ldmatrix): these are for whole warps, in the original as well.
bool waits_for_lanes(const Instruction& instruction) {
  if (instruction.opcode.starts_with("bar.warp.sync")) return true;
  return instruction.has("sync") && !instruction.has("aligned") &&
         is_any_of(instruction.operation(), {"shfl", "vote", "match", "redux", "elect"});
}

/// The mask is the last operand.
void add_waits_by_made_up_masks(const Module& module, const Function& function, const std::vector<bool>& divergent,
                                std::unordered_set<const Instruction*>& found) {
  if (!any_instruction(function, waits_for_lanes)) return;
  const AskedMasks asked(module, function, divergent);
  for_each_instruction(function, [&](const Instruction& instruction) {
    if (!waits_for_lanes(instruction) || instruction.operands.empty()) return;
    if (!asked.contains(single_name(module, instruction, instruction.operands.size() - 1))) found.insert(&instruction);
  });
}

}  // namespace

const Instruction* find_wait_for_missing_lanes(const Module& module, FunctionAnalyses& analyses,
                                               const Function& function, const std::vector<const Function*>& called) {
  std::vector<const Function*> functions{&function};
  functions.insert(functions.end(), called.begin(), called.end());
  const auto has_waits = [](const Function* each) { return any_instruction(*each, waits_for_lanes); };
  if (std::ranges::none_of(functions, has_waits)) return nullptr;
  std::unordered_set<const Instruction*> waits;
  for (const Function* each : functions) {
    add_waits_by_made_up_masks(module, *each, analyses.divergent_statements(*each, Among::Warp), waits);
  }
  const CalledInstructions reached(module, called, [&](const Instruction& each) { return waits.contains(&each); });
  for (const Function* each : functions) {
    const std::vector<bool>& divergent = analyses.divergent_statements(*each, Among::Warp);
    for (std::size_t index = 0; index < divergent.size(); ++index) {
      const auto* instruction = std::get_if<Instruction>(&each->statements[index]);
      if (instruction == nullptr || !divergent[index]) continue;
      if (reached.may_be_executed_by(*instruction)) return instruction;
    }
  }
  return nullptr;
}

}  // namespace gpushare::ptx
