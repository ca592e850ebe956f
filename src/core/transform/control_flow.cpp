// SPDX-License-Identifier: Apache-2.0
#include "core/transform/control_flow.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/errors.hpp"

namespace gpushare::ptx {
namespace {

constexpr std::size_t undefined = static_cast<std::size_t>(-1);

bool ends_block(const Instruction& instruction) {
  const std::string_view operation = instruction.operation();
  return operation == "bra" || operation == "brx" || operation == "ret" || operation == "exit" || operation == "trap";
}

const Instruction* as_instruction(const Statement& statement) { return std::get_if<Instruction>(&statement); }

/// The labels that a branch may go to.
std::vector<std::string_view> targets_of(const Instruction& branch, const Module& module, const Function& function) {
  if (branch.operation() == "bra") return {module.token(branch.operands.at(0).begin).text};
  const std::string_view list = module.token(branch.operands.at(1).begin).text;
  std::vector<std::string_view> targets;
  for (const Statement& statement : function.statements) {
    const auto* declaration = std::get_if<Declaration>(&statement);
    if (declaration == nullptr || declaration->label != list) continue;
    // name : .branchtargets $L1 , $L2 ;
    for (std::size_t token = declaration->tokens.begin + 3; token < declaration->tokens.end; ++token) {
      if (module.token(token).kind == TokenKind::Word) targets.push_back(module.token(token).text);
    }
  }
  return targets;
}

}  // namespace

ControlFlow::ControlFlow(const Module& module, const Function& function) {
  find_blocks(function);
  connect(module, function);
  find_post_dominators();
}

void ControlFlow::find_blocks(const Function& function) {
  std::size_t begin = 0;
  const auto close = [&](std::size_t end) {
    if (end > begin) blocks_.push_back({.begin = begin, .end = end, .successors = {}});
    begin = end;
  };
  for (std::size_t index = 0; index < function.statements.size(); ++index) {
    const Statement& statement = function.statements[index];
    if (std::holds_alternative<Label>(statement)) close(index);
    if (const auto* instruction = as_instruction(statement); instruction && ends_block(*instruction)) close(index + 1);
  }
  close(function.statements.size());
}

void ControlFlow::connect(const Module& module, const Function& function) {
  std::map<std::string_view, std::size_t> block_of_label;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    if (const auto* label = std::get_if<Label>(&function.statements[blocks_[block].begin])) {
      block_of_label[label->name] = block;
    }
  }
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    const std::size_t next = block + 1;  // the exit, behind the last block
    const auto* last = as_instruction(function.statements[blocks_[block].end - 1]);
    auto& successors = blocks_[block].successors;
    if (last == nullptr || !ends_block(*last)) {
      successors = {next};
      continue;
    }
    if (last->operation() == "bra" || last->operation() == "brx") {
      for (const std::string_view target : targets_of(*last, module, function)) {
        const auto found = block_of_label.find(target);
        if (found == block_of_label.end()) {
          throw InvalidInput("PTX line " +
                             std::to_string(line_of(module.text, module.token(last->tokens.begin).offset)) +
                             ": no label '" + std::string(target) + "' in this function");
        }
        successors.push_back(found->second);
      }
    } else {
      successors = {exit()};
    }
    if (!last->predicate.empty()) successors.push_back(next);
    if (successors.size() > 1) blocks_[block].decides = last;
  }
}

/// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", on the reversed graph.
void ControlFlow::find_post_dominators() {
  const std::vector<std::size_t> order = blocks_before_their_successors();  // reverse postorder of the reversed graph
  std::vector<std::size_t> rank(blocks_.size() + 1, 0);
  for (std::size_t position = 0; position < order.size(); ++position) rank[order[position]] = position + 1;
  immediate_post_dominator_.assign(blocks_.size() + 1, undefined);
  immediate_post_dominator_[exit()] = exit();
  const auto nearest_common = [&](std::size_t left, std::size_t right) {
    while (left != right) {
      std::size_t& farther = rank[left] > rank[right] ? left : right;
      farther = immediate_post_dominator_[farther];
    }
    return left;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::size_t block : order) {
      std::size_t common = undefined;
      for (const std::size_t successor : blocks_[block].successors) {
        if (immediate_post_dominator_[successor] == undefined) continue;
        common = common == undefined ? successor : nearest_common(common, successor);
      }
      if (common == undefined || common == immediate_post_dominator_[block]) continue;
      immediate_post_dominator_[block] = common;
      changed = true;
    }
  }
}

/// The blocks that can reach the exit, each (loops aside) behind its successors: a walk against the arrows.
std::vector<std::size_t> ControlFlow::blocks_before_their_successors() const {
  std::vector<std::vector<std::size_t>> predecessors(blocks_.size() + 1);
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    for (const std::size_t successor : blocks_[block].successors) predecessors[successor].push_back(block);
  }
  std::vector<bool> seen(blocks_.size() + 1, false);
  std::vector<std::size_t> finished;
  std::vector<std::pair<std::size_t, std::size_t>> path{{exit(), 0}};  // block, next predecessor to visit
  seen[exit()] = true;
  while (!path.empty()) {
    auto& [block, next] = path.back();
    if (next == predecessors[block].size()) {
      finished.push_back(block);
      path.pop_back();
      continue;
    }
    const std::size_t predecessor = predecessors[block][next++];
    if (seen[predecessor]) continue;
    seen[predecessor] = true;
    path.emplace_back(predecessor, 0);
  }
  finished.pop_back();  // the exit itself
  return {finished.rbegin(), finished.rend()};
}

std::vector<std::size_t> ControlFlow::region_after(std::size_t block) const {
  const std::size_t together_again = immediate_post_dominator_[block];
  std::vector<bool> seen(exit() + 1, false);
  std::vector<std::size_t> region;
  std::vector<std::size_t> open = blocks_[block].successors;
  while (!open.empty()) {
    const std::size_t next = open.back();
    open.pop_back();
    if (next == exit() || next == together_again || seen[next]) continue;
    seen[next] = true;
    region.push_back(next);
    open.insert(open.end(), blocks_[next].successors.begin(), blocks_[next].successors.end());
  }
  return region;
}

}  // namespace gpushare::ptx
