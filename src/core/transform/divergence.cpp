// SPDX-License-Identifier: Apache-2.0
#include "core/transform/divergence.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>

namespace gpushare::ptx {
namespace {

bool starts_with_any(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return text.starts_with(prefix); });
}

bool is_thread_dependent_register(std::string_view name) {
  constexpr std::array<std::string_view, 6> prefixes{"%tid",      "%laneid", "%warpid",
                                                     "%lanemask", "%clock",  "%globaltimer"};
  return starts_with_any(name, prefixes);
}

bool writes_nothing(const Instruction& instruction) {
  constexpr std::array<std::string_view, 14> prefixes{"st.",  "red.",      "bar",    "bra",      "ret",
                                                      "exit", "trap",      "membar", "fence.",   "prefetch",
                                                      "cp.",  "mbarrier.", "call",   "nanosleep"};
  return starts_with_any(instruction.opcode, prefixes);
}

/// Does the result differ between threads whatever the operands are?
bool yields_thread_dependent_value(const Instruction& instruction) {
  constexpr std::array<std::string_view, 8> operations{"atom",  "shfl",       "vote",  "match",
                                                       "redux", "activemask", "elect", "ldmatrix"};
  return std::ranges::find(operations, instruction.operation()) != operations.end();
}

class Taint {
 public:
  Taint(const Module& module, const Function& function, const ControlFlow& flow)
      : module_(module), function_(function), flow_(flow), divergent_(function.statements.size(), false) {}

  std::vector<bool> divergent_statements() {
    do {
      changed_ = false;
      for (std::size_t block = 0; block < flow_.blocks().size(); ++block) visit(block);
    } while (changed_);
    return std::move(divergent_);
  }

 private:
  void visit(std::size_t id) {
    const BasicBlock& block = flow_.blocks()[id];
    for (std::size_t index = block.begin; index < block.end; ++index) {
      const auto* instruction = std::get_if<Instruction>(&function_.statements[index]);
      if (instruction != nullptr) visit(*instruction, divergent_[index]);
    }
    if (block.decides == nullptr || !is_tainted_branch(*block.decides)) return;
    for (const std::size_t inside : flow_.region_after(id)) mark_divergent(flow_.blocks()[inside]);
  }

  void mark_divergent(const BasicBlock& block) {
    for (std::size_t index = block.begin; index < block.end; ++index) {
      changed_ |= !divergent_[index];
      divergent_[index] = true;
    }
  }

  void visit(const Instruction& instruction, bool divergent) {
    if (writes_nothing(instruction) || instruction.operands.empty()) return;
    const bool tainted = divergent || tainted_.contains(instruction.predicate) ||
                         yields_thread_dependent_value(instruction) || is_tainted_load(instruction) ||
                         reads_tainted(instruction);
    if (!tainted) return;
    for_each_word(instruction.operands.front(),
                  [&](std::string_view name) { changed_ |= tainted_.insert(name).second; });
  }

  /// Parameters of the kernel are the same for all threads; whatever else is loaded may differ.
  bool is_tainted_load(const Instruction& instruction) const {
    if (instruction.operation() != "ld" && instruction.operation() != "ldu") return false;
    if (!instruction.has("param") || instruction.operands.size() < 2) return true;
    bool of_kernel = false;
    for_each_word(instruction.operands[1], [&](std::string_view name) {
      of_kernel |= std::ranges::find(function_.parameters, name, &Parameter::name) != function_.parameters.end();
    });
    return !of_kernel;
  }

  bool reads_tainted(const Instruction& instruction) const {
    bool tainted = false;
    for (std::size_t operand = 1; operand < instruction.operands.size(); ++operand) {
      for_each_word(instruction.operands[operand], [&](std::string_view name) {
        tainted |= tainted_.contains(name) || is_thread_dependent_register(name);
      });
    }
    return tainted;
  }

  bool is_tainted_branch(const Instruction& branch) const {
    if (tainted_.contains(branch.predicate)) return true;
    return branch.operation() == "brx" && tainted_.contains(module_.token(branch.operands.front().begin).text);
  }

  template <typename Use>
  void for_each_word(TokenRange range, Use use) const {
    for (std::size_t token = range.begin; token < range.end; ++token) {
      if (module_.token(token).kind == TokenKind::Word) use(module_.token(token).text);
    }
  }

  const Module& module_;
  const Function& function_;
  const ControlFlow& flow_;
  std::vector<bool> divergent_;
  std::set<std::string_view> tainted_;
  bool changed_ = false;
};

}  // namespace

bool is_block_barrier(const Instruction& instruction) {
  if (instruction.operation() == "barrier") return !instruction.has("cluster");
  return instruction.operation() == "bar" && !instruction.has("warp");
}

std::vector<bool> divergent_statements(const Module& module, const Function& function, const ControlFlow& flow) {
  return Taint(module, function, flow).divergent_statements();
}

}  // namespace gpushare::ptx
