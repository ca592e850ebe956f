// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/warp_waits.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/transform/flow/data_flow.hpp"
#include "core/transform/flow/divergent_blocks.hpp"
#include "core/transform/ptx/called_functions.hpp"
#include "core/transform/ptx/instructions.hpp"
#include "core/transform/waits/mask_provenance.hpp"

namespace gpushare::ptx {
namespace {

/// Without the aligned ones (mma, ldmatrix): these are for whole warps, in the original as well.
bool waits_for_lanes(const Instruction& instruction) {
  if (instruction.opcode.starts_with("bar.warp.sync")) return true;
  return instruction.has("sync") && !instruction.has("aligned") &&
         is_any_of(instruction.operation(), {"shfl", "vote", "match", "redux", "elect"});
}

/// The numbers assigned to registers that have only one value.
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

/// A limit, as each takes an analysis.
constexpr std::size_t most_masks = 32;

/// The waits of one function by masks that are not answers of lanes, and those among them that need lanes which may
/// have returned.
class Waits {
 public:
  Waits(const Module& module, FunctionAnalyses& analyses, const Function& function, const BlockShapes& blocks)
      : analyses_(analyses),
        function_(function),
        blocks_(blocks),
        abandoned_(analyses.abandoned_statements(function, {ThreadGroup::all_lanes, blocks})),
        provenance_(module, function, analyses.divergent_statements(function, {ThreadGroup::all_lanes, blocks})),
        numbers_(module, function),
        module_(module),
        flow_(analyses.flow(function)) {}

  bool needs_absent_lanes(std::size_t statement, const Instruction& instruction) {
    if (!waits_for_lanes(instruction) || instruction.operands.empty()) return false;
    const std::string_view mask = single_name(module_, instruction, instruction.operands.size() - 1);
    return !provenance_.contains(mask) || (abandoned_[statement] && may_have_parted(statement, mask));
  }

  /// Lanes that the mask does not name need not be present: `if (threadIdx.x < 8)` before `__shfl_sync(0xff, ...)`.
  bool has_its_lanes(std::size_t statement, const Instruction& instruction) {
    if (!abandoned_[statement]) return true;
    if (!waits_for_lanes(instruction)) return false;
    const auto mask = numbers_.of(instruction.operands.back());
    if (mask.value_or(0) == 0 || mask == ThreadGroup::all_lanes) return false;
    masks_.insert(*mask);
    return masks_.size() <= most_masks && !analyses_.abandoned_statements(function_, {*mask, blocks_})[statement];
  }

 private:
  /// Lanes that have answered may have returned since, unless they go together to the wait: they took the same path
  /// before they answered, or by what they answered, as in `mask = __ballot_sync(~0u, i < n); if (i >= n) return;`
  bool may_have_parted(std::size_t wait, std::string_view mask) {
    if (choices_.empty()) find_choices();
    for (const std::size_t source : provenance_.sources(mask)) {
      if (source == wait) continue;
      if (++checks_ > most_masks) return true;
      const auto& question = std::get<Instruction>(function_.statements[source]);
      const std::string_view answer = question.has("ballot") ? single_name(module_, question, 1) : std::string_view();
      std::unordered_set<std::size_t> together;
      for (const auto& [choice, parted] : choices_) {
        const auto& branch = std::get<Instruction>(function_.statements[flow_.blocks()[choice].end - 1]);
        const bool is_answer = !answer.empty() && are_one_question(branch.predicate, answer);
        if (is_answer || parted.contains(flow_.block_of(source))) together.insert(choice);
      }
      const ThreadGroup group{ThreadGroup::all_lanes, blocks_};
      if (abandoned_statements(module_, function_, flow_, group, together)[wait]) return true;
    }
    return false;
  }

  void find_choices() {
    const std::vector<bool> divergent = divergent_choices(module_, function_, flow_, {ThreadGroup::all_lanes, blocks_});
    for (std::size_t block = 0; block < divergent.size(); ++block) {
      if (!divergent[block]) continue;
      const std::vector<std::size_t> parted = DivergentBlocks(flow_).add_choice(block);
      choices_.emplace_back(block, std::unordered_set<std::size_t>(parted.begin(), parted.end()));
    }
  }

  /// The same predicate, or one that compares the same values, perhaps the other way round.
  bool are_one_question(std::string_view left, std::string_view right) const {
    if (left == right) return true;
    const Instruction* one = comparison(left);
    const Instruction* other = comparison(right);
    if (one == nullptr || other == nullptr) return false;
    for (const std::size_t operand : {1, 2}) {
      if (module_.source(one->operands[operand]) != module_.source(other->operands[operand])) return false;
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> opposites{
        {{"lt", "ge"}, {"le", "gt"}, {"eq", "ne"}, {"lo", "hs"}, {"ls", "hi"}}};
    return one->opcode == other->opcode || std::ranges::any_of(opposites, [&](const auto& pair) {
             return (one->has(pair.first) && other->has(pair.second)) ||
                    (one->has(pair.second) && other->has(pair.first));
           });
  }

  /// The definition of the predicate, from integers that are written once.
  const Instruction* comparison(std::string_view predicate) const {
    const Instruction* found = nullptr;
    bool several = false;
    for_each_instruction(function_, [&](const Instruction& each) {
      if (single_name(module_, each, 0) != predicate || each.operands.size() != 3) return;
      several |= found != nullptr;
      found = &each;
    });
    if (found == nullptr || several || found->operation() != "setp" || !found->predicate.empty()) return nullptr;
    const std::string_view type = found->opcode.substr(found->opcode.rfind('.') + 1);
    const bool is_of_integers = type.starts_with('s') || type.starts_with('u') || type == "b32" || type == "b64";
    return is_of_integers ? found : nullptr;
  }

  FunctionAnalyses& analyses_;
  const Function& function_;
  BlockShapes blocks_;
  const std::vector<bool>& abandoned_;
  MaskProvenance provenance_;
  Numbers numbers_;
  const Module& module_;
  const ControlFlow& flow_;
  std::unordered_set<std::uint32_t> masks_;
  std::size_t checks_ = 0;
  std::vector<std::pair<std::size_t, std::unordered_set<std::size_t>>> choices_;  ///< and the blocks that each parts
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
    Waits& found = waits_of.emplace_back(module, analyses, *each, blocks);
    for (std::size_t index = 0; index < each->statements.size(); ++index) {
      const auto* instruction = std::get_if<Instruction>(&each->statements[index]);
      if (instruction != nullptr && found.needs_absent_lanes(index, *instruction)) waits.insert(instruction);
    }
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
