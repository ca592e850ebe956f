// SPDX-License-Identifier: Apache-2.0
#include "core/transform/flow/control_flow.hpp"

#include <string>

#include "core/model/errors.hpp"
#include "core/transform/flow/post_dominators.hpp"
#include "core/transform/ptx/label_scopes.hpp"

namespace gpushare::ptx {
namespace {

bool is_branch(const Instruction& instruction) {
  return instruction.operation() == "bra" || instruction.operation() == "brx";
}

bool ends_block(const Instruction& instruction) {
  const std::string_view operation = instruction.operation();
  return is_branch(instruction) || operation == "ret" || operation == "exit" || operation == "trap";
}

/// A failed assertion counts too: its call does not return.
bool ends_grid(const Module& module, const Instruction& instruction) {
  if (!instruction.predicate.empty()) return false;
  if (instruction.operation() == "trap") return true;
  if (instruction.operation() != "call") return false;
  for (std::size_t token = instruction.tokens.begin; token < instruction.tokens.end; ++token) {
    if (module.token(token).is("__assertfail")) return true;
  }
  return false;
}

const Instruction* as_instruction(const Statement& statement) { return std::get_if<Instruction>(&statement); }

/// Finds the statements that a branch may go to.
class Targets {
 public:
  Targets(const Module& module, const Function& function) : module_(module), function_(function), labels_(function) {}

  std::vector<std::size_t> of(std::size_t statement) const {
    const auto& branch = std::get<Instruction>(function_.statements[statement]);
    if (branch.operation() == "bra") return {label(last_word(branch, 1), statement)};
    const std::size_t list = find(last_word(branch, 2), statement);
    const auto* declaration = std::get_if<Declaration>(&function_.statements[list]);
    if (declaration == nullptr || declaration->directive != ".branchtargets") {
      fail(branch.tokens.begin, "expected the name of a list of .branchtargets");
    }
    std::vector<std::size_t> targets;
    // name : .branchtargets $L1 , $L2 ;
    for (std::size_t token = declaration->tokens.begin + 3; token < declaration->tokens.end; ++token) {
      if (module_.token(token).kind == TokenKind::Word) targets.push_back(label(token, list));
    }
    if (targets.empty()) fail(declaration->tokens.begin, "a list of branch targets is empty");
    return targets;
  }

 private:
  /// The token of the last of so many operands.
  std::size_t last_word(const Instruction& branch, std::size_t operands) const {
    if (branch.operands.size() != operands) {
      fail(branch.tokens.begin, "'" + std::string(branch.opcode) + "' needs " + std::to_string(operands) +
                                    (operands == 1 ? " operand" : " operands"));
    }
    return branch.operands.back().begin;
  }

  std::size_t label(std::size_t token, std::size_t used_in) const {
    const std::size_t found = find(token, used_in);
    if (!std::holds_alternative<Label>(function_.statements[found])) {
      fail(token, "'" + std::string(module_.token(token).text) + "' is no place to go to");
    }
    return found;
  }

  std::size_t find(std::size_t token, std::size_t used_in) const {
    const auto found = labels_.find(module_.token(token).text, used_in);
    if (!found) fail(token, "no label '" + std::string(module_.token(token).text) + "' in this function");
    return *found;
  }

  [[noreturn]] void fail(std::size_t token, const std::string& what) const {
    throw InvalidInput("PTX line " + std::to_string(module_.line(token)) + ": " + what);
  }

  const Module& module_;
  const Function& function_;
  LabelScopes labels_;
};

}  // namespace

ControlFlow::ControlFlow(const Module& module, const Function& function) {
  find_blocks(function);
  connect(module, function);
  leave_out_traps(module, function);
  find_meetings();
}

void ControlFlow::find_blocks(const Function& function) {
  std::size_t begin = 0;
  const auto close = [&](std::size_t end) {
    if (end > begin) blocks_.push_back({.begin = begin, .end = end, .successors = {}});
    block_of_.resize(end, blocks_.size() - 1);
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
  const Targets targets(module, function);
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    const std::size_t next = block + 1;  // the exit, behind the last block
    const std::size_t end = blocks_[block].end - 1;
    const auto* last = as_instruction(function.statements[end]);
    auto& successors = blocks_[block].successors;
    if (last == nullptr || !ends_block(*last)) {
      successors = {next};
      continue;
    }
    if (is_branch(*last)) {
      for (const std::size_t target : targets.of(end)) successors.push_back(block_of(target));
    } else if (last->operation() != "trap" || last->predicate.empty()) {
      successors = {exit_block()};
    }
    if (!last->predicate.empty()) successors.push_back(next);
  }
}

void ControlFlow::leave_out_traps(const Module& module, const Function& function) {
  std::vector<bool> ends(blocks_.size() + 1, false);
  std::vector<std::size_t> open;
  for (std::size_t index = 0; index < function.statements.size(); ++index) {
    const auto* instruction = as_instruction(function.statements[index]);
    if (instruction == nullptr || !ends_grid(module, *instruction) || ends[block_of(index)]) continue;
    ends[block_of(index)] = true;
    open.push_back(block_of(index));
  }
  if (open.empty()) return;
  std::vector<std::vector<std::size_t>> predecessors(blocks_.size() + 1);
  std::vector<std::size_t> ways(blocks_.size());
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    ways[block] = blocks_[block].successors.size();
    for (const std::size_t successor : blocks_[block].successors) predecessors[successor].push_back(block);
  }
  while (!open.empty()) {
    const std::size_t trapped = open.back();
    open.pop_back();
    for (const std::size_t before : predecessors[trapped]) {
      if (--ways[before] > 0 || ends[before]) continue;
      ends[before] = true;
      open.push_back(before);
    }
  }
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    if (!ends[block]) std::erase_if(blocks_[block].successors, [&](std::size_t successor) { return ends[successor]; });
  }
}

void ControlFlow::find_meetings() {
  const PostDominators found = find_post_dominators(blocks_);
  for (std::size_t block = 0; block < blocks_.size(); ++block) blocks_[block].meets_at = found.immediate[block];
  for (const std::size_t block : found.order) {
    const std::size_t next = blocks_[block].meets_at;
    blocks_[block].meetings = next == exit_block() ? 1 : blocks_[next].meetings + 1;
  }
}

}  // namespace gpushare::ptx
