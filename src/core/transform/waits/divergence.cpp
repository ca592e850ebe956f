// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/divergence.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/transform/flow/data_flow.hpp"
#include "core/transform/flow/divergent_blocks.hpp"
#include "core/transform/flow/lane_values.hpp"
#include "core/transform/ptx/instructions.hpp"
#include "core/transform/waits/leaving_choices.hpp"

namespace gpushare::ptx {
namespace {

bool is_thread_dependent_register(std::string_view name, const ThreadGroup& group) {
  constexpr std::array<std::string_view, 6> prefixes{"%tid", "%laneid", "%lanemask", "%clock", "%globaltimer", "%pm"};
  if (name.starts_with("%warpid")) return group.is_block();
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Does it yield the same to all threads of the block? A counted barrier, or one with a computed number, may give
/// different threads the results of different barriers.
bool is_barrier_of_all(const Module& module, const Instruction& barrier) {
  return barrier.operands.size() == 3 && module.token(barrier.operands[1].begin).kind == TokenKind::Number;
}

/// Does the result differ between threads for any operands?
bool yields_thread_dependent_value(const Module& module, const Instruction& instruction, const ThreadGroup& group) {
  if (is_block_barrier(instruction)) return instruction.has("red") && !is_barrier_of_all(module, instruction);
  if (instruction.operation() == "activemask") return group.is_block();
  return is_any_of(instruction.operation(), {"atom", "shfl", "vote", "match", "redux", "elect", "ldmatrix", "wmma",
                                             "wgmma", "tcgen05", "mbarrier", "multimem", "suld", "movmatrix", "call"});
}

bool loads_value(const Instruction& instruction) {
  return instruction.operation() == "ld" || instruction.operation() == "ldu";
}

/// Does it read a value repeatedly that other threads write?
bool watches(const Instruction& load) {
  constexpr std::array<std::string_view, 4> watching{"volatile", "relaxed", "acquire", "mmio"};
  return std::ranges::any_of(watching, [&](std::string_view suffix) { return load.has(suffix); });
}

/// Copies 16 bytes at a time through shared memory, register by register.
bool can_be_handed_on(const Module& module, const Instruction& load) {
  std::size_t registers = load.has("v2") ? 2 : load.has("v4") ? 4 : load.has("v8") ? 8 : 1;
  const std::size_t bytes = registers * bytes_of_type(load.opcode.substr(load.opcode.rfind('.')));
  for (std::size_t token = load.operands[0].begin; token < load.operands[0].end; ++token) {
    if (module.token(token).is("_")) return false;
  }
  return bytes <= 16;
}

bool is_of_common_memory(const Instruction& load) { return load.names_space("global") || load.names_space("shared"); }

/// Each statement is affected at most once, and each word of it is visited once: the time is that of reading.
class Taint {
 public:
  Taint(const Module& module, const Function& function, const ControlFlow& flow, const ThreadGroup& group,
        const LoadsForAll* for_all, const std::unordered_set<std::size_t>* together = nullptr)
      : module_(module),
        function_(function),
        flow_(flow),
        group_(group),
        for_all_(for_all),
        together_(together),
        blocks_(flow),
        affected_(function.statements.size(), false),
        divergent_(function.statements.size(), false) {
    if (group.is_block()) return;
    warp_.emplace(module, function, flow, group);
    abandoned_.assign(function.statements.size(), false);
  }

  void find() {
    for (std::size_t index = 0; index < function_.statements.size(); ++index) {
      const auto* instruction = std::get_if<Instruction>(&function_.statements[index]);
      if (instruction != nullptr) enter(*instruction, index);
    }
    if (!function_.is_entry) taint_parameters();
    while (!open_.empty()) {
      const std::size_t index = open_.back();
      open_.pop_back();
      spread(index);
    }
  }

  bool is_affected(std::size_t statement) const { return affected_[statement]; }
  std::vector<bool>& divergent() { return divergent_; }
  std::vector<bool>& abandoned() { return abandoned_; }

 private:
  /// Statements, by their treatment of the values that they read.
  struct Readers {
    std::vector<std::size_t> computing;
    std::vector<std::size_t> guarded;
  };
  struct Warp {
    SingleWriterAnalysis writers;
    LaneValues values;
    LeavingChoices leaving;
    DivergentBlocks abandoned_blocks;
    Warp(const Module& module, const Function& function, const ControlFlow& flow, const ThreadGroup& group)
        : writers(module, function, flow),
          values(module, function, writers, group),
          leaving(function, flow),
          abandoned_blocks(flow) {}
  };

  /// Notes what the instruction reads, and whether it is affected whatever the others do.
  void enter(const Instruction& instruction, std::size_t index) {
    if (!instruction.predicate.empty())
      readers_of(without_component(instruction.predicate), index).guarded.push_back(index);
    const bool depends = !warp_ || !warp_->values.is_same_in_warp(index);
    const bool loads_same = loads_value(instruction) && is_same_for_same_address(instruction, index);
    bool affected = (loads_value(instruction) && !loads_same) ||
                    (depends && yields_thread_dependent_value(module_, instruction, group_));
    if (depends) {
      for (const std::string_view name : names_read(module_, instruction)) {
        if (loads_same && name == "[shared]") continue;  // whatever is there
        readers_of(name, index).computing.push_back(index);
      }
      for_each_word(instruction.tokens,
                    [&](std::string_view name) { affected |= is_thread_dependent_register(name, group_); });
    }
    if (affected) affect(index);
  }

  /// Arguments of called functions may differ.
  void taint_parameters() {
    for (const Parameter& parameter : function_.parameters) {
      tainted_.insert(parameter.name);
      if (const auto found = readers_of_name_.find(parameter.name); found != readers_of_name_.end()) {
        affect(found->second);
      }
    }
  }

  /// The readers of the value that this statement reads by this name: of the single writer where it is known, else of
  /// all.
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
    if (ends_with_choice(index) && (together_ == nullptr || !together_->contains(block))) {
      for (const std::size_t added : blocks_.add_choice(block)) diverge(flow_.blocks()[added]);
      if (warp_ && warp_->leaving.may_lose_threads(block)) abandon(block);
    }
    if (is_block_barrier(*instruction) && is_barrier_of_all(module_, *instruction)) return;
    if (const auto found = readers_of_writer_.find(index); found != readers_of_writer_.end()) affect(found->second);
    for (const std::string_view name : names_written(module_, *instruction)) {
      if (name == "[shared]" || !tainted_.insert(name).second) continue;
      if (const auto found = readers_of_name_.find(name); found != readers_of_name_.end()) affect(found->second);
    }
  }

  void affect(const Readers& readers) {
    for (const std::size_t computing : readers.computing) affect(computing);
    for (const std::size_t guarded : readers.guarded) {
      affect(guarded);
      if (ends_with_choice(guarded)) continue;
      divergent_[guarded] = true;
      if (warp_) abandoned_[guarded] = true;
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

  /// Also the choices within the abandoned part, wherever their paths meet: the threads that have left are missing from
  /// all of it.
  void abandon(std::size_t choice) {
    std::vector<std::size_t> choices{choice};
    while (!choices.empty()) {
      const std::size_t next = choices.back();
      choices.pop_back();
      for (const std::size_t added : warp_->abandoned_blocks.add_choice(next)) {
        const BasicBlock& block = flow_.blocks()[added];
        for (std::size_t index = block.begin; index < block.end; ++index) abandoned_[index] = true;
        if (block.decides()) choices.push_back(added);
      }
    }
  }

  /// Kernel parameters and constants are the same for all. Lanes that load together from memory of all find the same
  /// value; but a thread that loads repeatedly may be alone.
  bool is_same_for_same_address(const Instruction& load, std::size_t index) const {
    if (load.has("nc") || load.has("const")) return true;
    if (load.has("param")) return function_.is_entry;  // arguments of called functions may differ
    if (load.has("local")) return true;                // if all threads have stored the same
    if (group_.is_block()) return for_all_ != nullptr && for_all_->contains(index);
    return !watches(load) && is_of_common_memory(load);
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
  const ThreadGroup group_;
  const LoadsForAll* for_all_;
  const std::unordered_set<std::size_t>* together_;
  std::optional<Warp> warp_;
  DivergentBlocks blocks_;
  std::unordered_map<std::string_view, Readers> readers_of_name_;
  std::unordered_map<std::size_t, Readers> readers_of_writer_;
  std::unordered_set<std::string_view> tainted_;
  std::vector<std::size_t> open_;  ///< affected statements that have yet to affect others
  std::vector<bool> affected_;
  std::vector<bool> divergent_;
  std::vector<bool> abandoned_;  ///< empty where the threads are those of a block
};

}  // namespace

bool is_block_barrier(const Instruction& instruction) {
  if (instruction.operation() == "barrier") return !instruction.has("cluster");
  return instruction.operation() == "bar" && !instruction.has("warp");
}

std::vector<bool> divergent_statements(const Module& module, const Function& function, const ControlFlow& flow,
                                       const ThreadGroup& group, const LoadsForAll& for_all,
                                       const std::unordered_set<std::size_t>& together) {
  Taint taint(module, function, flow, group, &for_all, &together);
  taint.find();
  return std::move(taint.divergent());
}

std::vector<bool> abandoned_statements(const Module& module, const Function& function, const ControlFlow& flow,
                                       const ThreadGroup& group, const std::unordered_set<std::size_t>& together) {
  Taint taint(module, function, flow, group, nullptr, &together);
  taint.find();
  return std::move(taint.abandoned());
}

std::vector<bool> divergent_choices(const Module& module, const Function& function, const ControlFlow& flow,
                                    const ThreadGroup& group) {
  Taint taint(module, function, flow, group, nullptr);
  taint.find();
  std::vector<bool> choices(flow.exit_block());
  for (std::size_t block = 0; block < flow.exit_block(); ++block) {
    choices[block] = flow.blocks()[block].decides() && taint.is_affected(flow.blocks()[block].end - 1);
  }
  return choices;
}

LoadsForAll find_loads_for_all(const Module& module, const Function& function, const ControlFlow& flow) {
  LoadsForAll loads;
  for (std::size_t index = 0; index < function.statements.size(); ++index) {
    const auto* load = std::get_if<Instruction>(&function.statements[index]);
    if (load == nullptr || !loads_value(*load) || watches(*load) || !is_of_common_memory(*load)) continue;
    if (load->operands.size() == 2 && can_be_handed_on(module, *load)) loads.insert(index);
  }
  if (loads.empty()) return loads;
  Taint taint(module, function, flow, ThreadGroup{}, &loads);
  taint.find();
  std::erase_if(loads, [&](std::size_t load) { return taint.is_affected(load) || taint.divergent()[load]; });
  return loads;
}

}  // namespace gpushare::ptx
