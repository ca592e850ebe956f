// SPDX-License-Identifier: Apache-2.0
#include "core/transform/warp_waits.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
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

/// The numbers that are assigned to registers, where each has one only.
class Numbers {
 public:
  Numbers(const Module& module, const Function& function) : module_(module) {
    for_each_instruction(function, [&](const Instruction& instruction) {
      const bool is_number = instruction.operation() == "mov" && instruction.predicate.empty() &&
                             instruction.operands.size() == 2 && parsed(instruction.operands[1]);
      for (const std::string_view name : names_written(module, instruction)) {
        const auto number = is_number ? parsed(instruction.operands[1]) : std::nullopt;
        const auto [known, is_new] = of_.try_emplace(name, number);
        if (!is_new && known->second != number) known->second = std::nullopt;
      }
    });
  }

  std::optional<std::uint32_t> of(TokenRange operand) const {
    if (const auto number = parsed(operand)) return number;
    const auto known = operand.size() == 1 ? of_.find(module_.token(operand.begin).text) : of_.end();
    return known == of_.end() ? std::nullopt : known->second;
  }

 private:
  std::optional<std::uint32_t> parsed(TokenRange operand) const {
    const auto number = parsed_number(module_, operand);
    return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
  }

  const Module& module_;
  std::unordered_map<std::string_view, std::optional<std::uint32_t>> of_;
};

/// The waits of one function by masks that are made up, and those of them that need lanes which may have returned.
class Waits {
 public:
  Waits(const Module& module, FunctionAnalyses& analyses, const Function& function, const BlockShapes& blocks)
      : analyses_(analyses),
        function_(function),
        blocks_(blocks),
        divergent_(analyses.divergent_statements(function, {ThreadGroup::all_lanes, blocks})),
        asked_(module, function, divergent_),
        numbers_(module, function),
        module_(module) {}

  bool is_by_made_up_mask(const Instruction& instruction) const {
    if (!waits_for_lanes(instruction) || instruction.operands.empty()) return false;
    return !asked_.contains(single_name(module_, instruction, instruction.operands.size() - 1));
  }

  /// Lanes that the mask does not name need not be there: `if (threadIdx.x < 8)` before `__shfl_sync(0xff, ...)`.
  bool has_its_lanes(std::size_t statement, const Instruction& instruction) const {
    if (!divergent_[statement]) return true;
    if (!waits_for_lanes(instruction)) return false;
    const auto mask = numbers_.of(instruction.operands.back());
    if (mask.value_or(0) == 0 || mask == ThreadGroup::all_lanes) return false;
    return !analyses_.divergent_statements(function_, {*mask, blocks_})[statement];
  }

 private:
  FunctionAnalyses& analyses_;
  const Function& function_;
  BlockShapes blocks_;
  const std::vector<bool>& divergent_;
  AskedMasks asked_;
  Numbers numbers_;
  const Module& module_;
};

}  // namespace

const Instruction* find_wait_for_missing_lanes(const Module& module, FunctionAnalyses& analyses,
                                               const Function& function, const std::vector<const Function*>& called,
                                               const BlockShapes& blocks) {
  std::vector<const Function*> functions{&function};
  functions.insert(functions.end(), called.begin(), called.end());
  const auto has_waits = [](const Function* each) { return any_instruction(*each, waits_for_lanes); };
  if (std::ranges::none_of(functions, has_waits)) return nullptr;
  std::vector<Waits> waits_of;
  waits_of.reserve(functions.size());
  std::unordered_set<const Instruction*> waits;
  for (const Function* each : functions) {
    const Waits& found = waits_of.emplace_back(module, analyses, *each, blocks);
    for_each_instruction(*each, [&](const Instruction& instruction) {
      if (found.is_by_made_up_mask(instruction)) waits.insert(&instruction);
    });
  }
  const CalledInstructions reached(module, called, [&](const Instruction& each) { return waits.contains(&each); });
  for (std::size_t number = 0; number < functions.size(); ++number) {
    const auto& statements = functions[number]->statements;
    for (std::size_t index = 0; index < statements.size(); ++index) {
      const auto* instruction = std::get_if<Instruction>(&statements[index]);
      if (instruction == nullptr || !reached.may_be_executed_by(*instruction)) continue;
      if (!waits_of[number].has_its_lanes(index, *instruction)) return instruction;
    }
  }
  return nullptr;
}

}  // namespace gpushare::ptx
