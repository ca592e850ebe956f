// SPDX-License-Identifier: Apache-2.0
#include "core/transform/divergence.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/transform/data_flow.hpp"
#include "core/transform/divergent_blocks.hpp"
#include "core/transform/instructions.hpp"
#include "core/transform/lane_values.hpp"

namespace gpushare::ptx {
namespace {

bool is_thread_dependent_register(std::string_view name, Among among) {
  constexpr std::array<std::string_view, 5> prefixes{"%tid", "%laneid", "%lanemask", "%clock", "%globaltimer"};
  if (name.starts_with("%warpid")) return among == Among::Block;
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Does it yield the same to all threads of the block? Of a counted barrier, or one whose number is worked out, other
/// threads may get the result of another.
bool is_barrier_of_all(const Module& module, const Instruction& barrier) {
  return barrier.operands.size() == 3 && module.token(barrier.operands[1].begin).kind == TokenKind::Number;
}

/// Does the result differ between threads whatever the operands are?
bool yields_thread_dependent_value(const Module& module, const Instruction& instruction, Among among) {
  if (is_block_barrier(instruction)) return instruction.has("red") && !is_barrier_of_all(module, instruction);
  if (instruction.operation() == "activemask") return among == Among::Block;
  return is_any_of(instruction.operation(), {"atom", "shfl", "vote", "match", "redux", "elect", "ldmatrix", "wmma",
                                             "wgmma", "tcgen05", "mbarrier", "call"});
}

/// Lanes that load together from the same place find the same there. Not in memory of their own, where the same address
/// is another place for each; and who loads again and again may be alone.
bool is_same_for_same_address(const Instruction& load, Among among) {
  if (load.has("nc") || load.has("const")) return true;
  if (among == Among::Block) return false;
  constexpr std::array<std::string_view, 4> watching{"volatile", "relaxed", "acquire", "mmio"};
  const bool watches = std::ranges::any_of(watching, [&](std::string_view suffix) { return load.has(suffix); });
  return !watches && (load.names_space("global") || load.names_space("shared"));
}

/// Each statement is affected at most once, and each word of it is looked at once: the time is that of reading.
class Taint {
 public:
  Taint(const Module& module, const Function& function, const ControlFlow& flow, Among among)
      : module_(module),
        function_(function),
        flow_(flow),
        among_(among),
        blocks_(flow),
        affected_(function.statements.size(), false),
        divergent_(function.statements.size(), false) {
    if (among == Among::Warp) warp_.emplace(module, function, flow);
    if (!function.is_entry) return;  // what is handed over in a call may differ
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
  /// Statements, by what they do with what they read.
  struct Readers {
    std::vector<std::size_t> computing;
    std::vector<std::size_t> guarded;
  };
  struct Warp {
    OnlyWriters writers;
    LaneValues values;
    Warp(const Module& module, const Function& function, const ControlFlow& flow)
        : writers(module, function, flow), values(module, function, writers) {}
  };

  /// Notes what the instruction reads, and whether it is affected whatever the others do.
  void enter(const Instruction& instruction, std::size_t index) {
    if (!instruction.predicate.empty())
      readers_of(without_component(instruction.predicate), index).guarded.push_back(index);
    const bool depends = !warp_ || !warp_->values.is_same_in_warp(index);
    bool affected =
        is_tainted_load(instruction) || (depends && yields_thread_dependent_value(module_, instruction, among_));
    if (depends) {
      for (const std::string_view name : names_read(module_, instruction)) {
        readers_of(name, index).computing.push_back(index);
      }
      for_each_word(instruction.tokens,
                    [&](std::string_view name) { affected |= is_thread_dependent_register(name, among_); });
    }
    if (affected) affect(index);
  }

  /// Of what this statement reads by this name: of one writer where that is known, or else of all.
  Readers& readers_of(std::string_view name, std::size_t index) {
    const auto writer = warp_ ? warp_->writers.of(name, index) : std::nullopt;
    return writer ? readers_of_writer_[*writer] : readers_of_name_[name];
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
    if (ends_with_choice(index)) {
      for (const std::size_t added : blocks_.add_choice(block)) diverge(flow_.blocks()[added]);
    }
    if (is_block_barrier(*instruction) && is_barrier_of_all(module_, *instruction)) return;
    if (const auto found = readers_of_writer_.find(index); found != readers_of_writer_.end()) affect(found->second);
    for (const std::string_view name : names_written(module_, *instruction)) {
      if (name.starts_with('[') || !tainted_.insert(name).second) continue;
      if (const auto found = readers_of_name_.find(name); found != readers_of_name_.end()) affect(found->second);
    }
  }

  void affect(const Readers& readers) {
    for (const std::size_t computing : readers.computing) affect(computing);
    for (const std::size_t guarded : readers.guarded) {
      affect(guarded);
      if (!ends_with_choice(guarded)) divergent_[guarded] = true;
    }
  }

  /// Is this the branch, or the guarded return, that chooses between ways out of its block?
  bool ends_with_choice(std::size_t index) const {
    const BasicBlock& block = flow_.blocks()[flow_.block_of(index)];
    return index + 1 == block.end && block.decides();
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
    if (is_same_for_same_address(instruction, among_)) return false;
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
  const Among among_;
  std::optional<Warp> warp_;
  DivergentBlocks blocks_;
  std::unordered_set<std::string_view> parameters_;
  std::unordered_map<std::string_view, Readers> readers_of_name_;
  std::unordered_map<std::size_t, Readers> readers_of_writer_;
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

std::vector<bool> divergent_statements(const Module& module, const Function& function, const ControlFlow& flow,
                                       Among among) {
  return Taint(module, function, flow, among).divergent_statements();
}

}  // namespace gpushare::ptx
