// SPDX-License-Identifier: Apache-2.0
#include "core/transform/divergence.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "core/transform/divergent_blocks.hpp"

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

/// Each statement is affected at most once, and each word of it is looked at once: the time is that of reading.
class Taint {
 public:
  Taint(const Module& module, const Function& function, const ControlFlow& flow)
      : module_(module),
        function_(function),
        flow_(flow),
        blocks_(flow),
        affected_(function.statements.size(), false),
        divergent_(function.statements.size(), false) {
    for (const Parameter& parameter : function.parameters) parameters_.insert(parameter.name);
  }

  std::vector<bool> divergent_statements() {
    for (std::size_t index = 0; index < function_.statements.size(); ++index) {
      const auto* instruction = std::get_if<Instruction>(&function_.statements[index]);
      if (instruction != nullptr) enter(*instruction, index);
    }
    while (!open_.empty()) {
      const std::size_t index = open_.back();
      open_.pop_back();
      spread(index);
    }
    return std::move(divergent_);
  }

 private:
  /// Notes what the instruction reads, and whether it is affected whatever the others do.
  void enter(const Instruction& instruction, std::size_t index) {
    if (!instruction.predicate.empty()) readers_[instruction.predicate].push_back(index);
    bool reads_thread = false;
    // The first operand is the result, but for brx, which has none.
    for (std::size_t operand = instruction.operation() == "brx" ? 0 : 1; operand < instruction.operands.size();
         ++operand) {
      for_each_word(instruction.operands[operand], [&](std::string_view name) {
        readers_[name].push_back(index);
        reads_thread |= is_thread_dependent_register(name);
      });
    }
    if (reads_thread || yields_thread_dependent_value(instruction) || is_tainted_load(instruction)) affect(index);
  }

  /// This statement depends on something that may differ between threads.
  void affect(std::size_t index) {
    if (affected_[index]) return;
    affected_[index] = true;
    open_.push_back(index);
  }

  void spread(std::size_t index) {
    const auto* instruction = std::get_if<Instruction>(&function_.statements[index]);
    if (instruction == nullptr) return;
    const std::size_t block = flow_.block_of(index);
    const bool is_last = index + 1 == flow_.blocks()[block].end;
    if (is_last && flow_.blocks()[block].decides()) {
      for (const std::size_t added : blocks_.add_choice(block)) diverge(flow_.blocks()[added]);
    }
    if (writes_nothing(*instruction) || instruction->operands.empty()) return;
    for_each_word(instruction->operands.front(), [&](std::string_view name) {
      if (!tainted_.insert(name).second) return;
      if (const auto found = readers_.find(name); found != readers_.end()) {
        for (const std::size_t reader : found->second) affect(reader);
      }
    });
  }

  void diverge(const BasicBlock& block) {
    for (std::size_t index = block.begin; index < block.end; ++index) {
      divergent_[index] = true;
      affect(index);
    }
  }

  /// Parameters of the kernel are the same for all threads, and so is what nobody changes, at the same address.
  /// Whatever else is loaded may differ.
  bool is_tainted_load(const Instruction& instruction) const {
    if (instruction.operation() != "ld" && instruction.operation() != "ldu") return false;
    if (instruction.has("nc") || instruction.has("const")) return false;
    if (!instruction.has("param") || instruction.operands.size() < 2) return true;
    bool of_kernel = false;
    for_each_word(instruction.operands[1], [&](std::string_view name) { of_kernel |= parameters_.contains(name); });
    return !of_kernel;
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
  DivergentBlocks blocks_;
  std::unordered_set<std::string_view> parameters_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> readers_;  ///< of each word, as statements
  std::unordered_set<std::string_view> tainted_;
  std::vector<std::size_t> open_;  ///< affected statements that have yet to affect others
  std::vector<bool> affected_;
  std::vector<bool> divergent_;
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
