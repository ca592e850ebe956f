// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/mbarriers.hpp"

#include <unordered_map>
#include <vector>

#include "core/transform/flow/fixed_values.hpp"
#include "core/transform/ptx/instructions.hpp"

namespace gpushare::ptx {
namespace {

/// A limit to all searches together; beyond it, nothing is known.
constexpr std::size_t most_search_steps = 1'000'000;

class MbarrierLives {
 public:
  MbarrierLives(const Module& module, const Function& function)
      : function_(function),
        flow_(module, function),
        cycles_(flow_),
        values_(module, function, flow_, cycles_),
        predecessors_(flow_.exit_block() + 1) {
    for (std::size_t block = 0; block < flow_.exit_block(); ++block) {
      for (const std::size_t successor : flow_.blocks()[block].successors) predecessors_[successor].push_back(block);
    }
  }

  std::vector<std::size_t> lasting() {
    std::vector<std::size_t> found;
    for (std::size_t index = 0; index < function_.statements.size(); ++index) {
      const auto* instruction = std::get_if<Instruction>(&function_.statements[index]);
      if (instruction == nullptr || !instruction->opcode.starts_with("mbarrier.init")) continue;
      if (lasts(index, *instruction)) found.push_back(instruction->tokens.begin);
    }
    return found;
  }

 private:
  /// Conditions by their number, and whether they hold for the thread that has initialized the mbarrier.
  using Facts = std::unordered_map<std::size_t, bool>;

  bool lasts(std::size_t index, const Instruction& init) {
    const auto object = object_of(init);
    if (!object) return true;
    const Facts facts = facts_at(index, init);
    const std::size_t start = flow_.block_of(index);
    if (is_ended(index + 1, flow_.blocks()[start].end, *object, facts)) return false;
    std::vector<bool> seen(flow_.exit_block(), false);
    std::vector<std::size_t> open{start};
    while (!open.empty()) {
      const std::size_t block = open.back();
      open.pop_back();
      for (const std::size_t next : ways_out(block, facts)) {
        if (next == flow_.exit_block() || steps_ > most_search_steps) return true;
        if (seen[next]) continue;
        seen[next] = true;
        if (!is_ended(flow_.blocks()[next].begin, flow_.blocks()[next].end, *object, facts)) open.push_back(next);
      }
    }
    return false;
  }

  std::optional<std::size_t> object_of(const Instruction& instruction) {
    if (instruction.operands.empty()) return std::nullopt;
    const auto value = values_.of_address(instruction.operands[0]);
    return value ? std::optional(value->number) : std::nullopt;
  }

  /// Is it invalidated among these statements?
  bool is_ended(std::size_t begin, std::size_t end, std::size_t object, const Facts& facts) {
    for (std::size_t index = begin; index < end && steps_ <= most_search_steps; ++index) {
      ++steps_;
      const auto* instruction = std::get_if<Instruction>(&function_.statements[index]);
      if (instruction == nullptr || !instruction->opcode.starts_with("mbarrier.inval")) continue;
      if (object_of(*instruction) == object && is_executed(*instruction, facts) == true) return true;
    }
    return false;
  }

  /// Nothing where that is not known.
  std::optional<bool> is_executed(const Instruction& instruction, const Facts& facts) {
    if (instruction.predicate.empty()) return true;
    const auto value = values_.of(instruction.predicate);
    const auto fact = value ? facts.find(value->number) : facts.end();
    if (fact == facts.end()) return std::nullopt;
    return fact->second != (value->negated != instruction.negated);
  }

  /// The guard of the instruction, and those of the branches that led to it.
  Facts facts_at(std::size_t index, const Instruction& init) {
    Facts facts;
    add_fact(init, true, facts);
    std::size_t block = flow_.block_of(index);
    while (block != 0 && predecessors_[block].size() == 1 && ++steps_ <= most_search_steps) {
      const std::size_t before = predecessors_[block].front();
      const BasicBlock& choice = flow_.blocks()[before];
      if (choice.successors.size() == 2) add_fact(last_of(choice), choice.successors.front() == block, facts);
      block = before;
    }
    return facts;
  }

  void add_fact(const Instruction& instruction, bool executed, Facts& facts) {
    if (instruction.predicate.empty()) return;
    const auto value = values_.of(instruction.predicate);
    if (value) facts.emplace(value->number, executed != (value->negated != instruction.negated));
  }

  /// The successors of a block. A trap ends the whole grid.
  std::vector<std::size_t> ways_out(std::size_t block, const Facts& facts) {
    std::vector<std::size_t> ways = flow_.blocks()[block].successors;
    const auto* last = std::get_if<Instruction>(&function_.statements[flow_.blocks()[block].end - 1]);
    if (last == nullptr) return ways;
    const bool traps = last->operation() == "trap";
    const bool chooses = ways.size() == 2 && !last->predicate.empty();  // the jump, and what is behind it
    const auto jumps = is_executed(*last, facts);
    if (chooses && jumps == false) return {ways[1]};
    if (chooses && jumps == true) return traps ? std::vector<std::size_t>{} : std::vector{ways[0]};
    if (traps) ways.erase(ways.begin());
    return ways;
  }

  const Instruction& last_of(const BasicBlock& block) const {
    return std::get<Instruction>(function_.statements[block.end - 1]);
  }

  const Function& function_;
  ControlFlow flow_;
  Cycles cycles_;
  FixedValues values_;
  std::vector<std::vector<std::size_t>> predecessors_;
  std::size_t steps_ = 0;
};

}  // namespace

std::vector<std::size_t> find_lasting_mbarriers(const Module& module, const Function& function) {
  const auto initializes = [](const Instruction& each) { return each.opcode.starts_with("mbarrier.init"); };
  if (!any_instruction(function, initializes)) return {};
  return MbarrierLives(module, function).lasting();
}

}  // namespace gpushare::ptx
