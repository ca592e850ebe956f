// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/grid_waits.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/transform/flow/data_flow.hpp"
#include "core/transform/flow/divergent_blocks.hpp"
#include "core/transform/flow/fixed_values.hpp"
#include "core/transform/flow/loops.hpp"
#include "core/transform/ptx/instructions.hpp"
#include "core/transform/waits/memory_reads.hpp"

namespace gpushare::ptx {
namespace {

using RegisterNames = std::unordered_set<std::string_view>;

bool names_special(const Module& module, const Instruction& instruction, std::string_view prefix) {
  for (std::size_t token = instruction.tokens.begin; token < instruction.tokens.end; ++token) {
    if (module.token(token).text.starts_with(prefix)) return true;
  }
  return false;
}

bool is_atomic(const Instruction& instruction) {
  return instruction.operation() == "atom" || instruction.operation() == "red";
}

/// An atomic that does not change the value: atomicAdd(p, 0), atomicCAS(p, x, x).
bool only_reads(const Module& module, const Instruction& atomic) {
  if (atomic.operation() != "atom") return false;
  const auto& operands = atomic.operands;
  if (atomic.has("cas")) return operands.size() == 4 && module.source(operands[2]) == module.source(operands[3]);
  if (operands.size() != 3) return false;
  const auto number = parsed_number(module, operands[2]);
  const bool keeps_by_0 = atomic.has("add") || atomic.has("or") || atomic.has("xor") || atomic.has("max");
  const bool keeps_by_ones = atomic.has("and") || atomic.has("min");
  return number && ((keeps_by_0 && *number == 0) || (keeps_by_ones && static_cast<std::int32_t>(*number) == -1));
}

/// Propagates values through arithmetic: registers by name, and optionally through shared memory, which a thread writes
/// for others. Global memory is not followed: an address is not the value found there.
class Derived {
 public:
  Derived(const Module& module, const Function& function) : module_(module) {
    for_each_instruction(function, [&](const Instruction& each) {
      if (is_any_of(each.operation(), {"atom", "call", "setp"})) return;
      const bool loads = is_any_of(each.operation(), {"ld", "ldu"});
      if (loads && each.names_space("shared")) readers_["[shared]"].push_back(&each);
      if (loads) return;
      for (const std::string_view name : names_read(module, each)) readers_[name].push_back(&each);
    });
  }

  /// With several dimensions the block's linear number is computed from the size of the grid.
  RegisterNames from(const std::vector<const Instruction*>& seeds, bool through_shared = false) const {
    RegisterNames found;
    std::vector<std::string_view> open;
    const auto add = [&](const Instruction& each) {
      const bool scales_index = is_any_of(each.operation(), {"mul", "mad"}) && reads_index(each);
      for (const std::string_view name : names_written(module_, each)) {
        const bool is_followed =
            !name.starts_with('[') || (through_shared && name == "[shared]" && each.operation() == "st");
        if (!scales_index && is_followed && found.insert(name).second) open.push_back(name);
      }
    };
    for (const Instruction* seed : seeds) add(*seed);
    while (!open.empty()) {
      const auto readers = readers_.find(open.back());
      open.pop_back();
      if (readers == readers_.end()) continue;
      for (const Instruction* reader : readers->second) add(*reader);
    }
    return found;
  }

  /// Registers that hold a component of the block index.
  void note_index(const Function& function) {
    for_each_instruction(function, [&](const Instruction& each) {
      if (each.operation() != "mov" || !names_special(module_, each, "%ctaid")) return;
      for (const std::string_view name : names_written(module_, each)) index_.insert(name);
    });
  }

 private:
  bool reads_index(const Instruction& each) const {
    return std::ranges::any_of(names_read(module_, each), [&](std::string_view name) {
      return index_.contains(name) || name.starts_with("%ctaid");
    });
  }

  const Module& module_;
  std::unordered_map<std::string_view, std::vector<const Instruction*>> readers_;
  RegisterNames index_;
};

class GridWaits {
 public:
  GridWaits(const Module& module, const Function& function, const ControlFlow& flow)
      : module_(module),
        function_(function),
        flow_(flow),
        loops_{function, flow},
        derived_(module, function),
        values_(module, function, flow, loops_.cycles) {
    derived_.note_index(function);
    std::vector<const Instruction*> sizes;
    std::vector<const Instruction*> parameters;
    std::vector<const Instruction*> atomics;
    for_each_instruction(function, [&](const Instruction& each) {
      if (names_special(module, each, "%nctaid")) sizes.push_back(&each);
      if (function.is_entry && each.operation() == "ld" && each.has("param")) parameters.push_back(&each);
      if (each.operation() == "atom") atomics.push_back(&each);
    });
    of_size_ = derived_.from(sizes, true);
    of_parameter_ = derived_.from(parameters);
    of_atomic_ = derived_.from(atomics);
  }

  /// The first load of a loop that decides whether the loop continues.
  const Instruction* poll() {
    for (std::size_t cycle = 0; cycle < loops_.cycles.all().size(); ++cycle) {
      if (const Instruction* found = poll_in(cycle)) return found;
    }
    return nullptr;
  }

  /// Such a load in a loop that depends on the size of the grid, or that compares the loaded value with a parameter.
  const Instruction* poll_by_size() {
    for (std::size_t cycle = 0; cycle < loops_.cycles.all().size(); ++cycle) {
      const Instruction* found = poll_in(cycle);
      if (found == nullptr) continue;
      const RegisterNames read = derived_.from({polls_.begin(), polls_.end()});
      bool by_size = false;
      loops_.for_each_instruction_in(cycle, [&](std::size_t, const Instruction& each) {
        if (each.operation() != "setp") return;
        by_size |= reads_any(each, of_size_) || names_special(module_, each, "%nctaid");
        by_size |= reads_any(each, read) && reads_any(each, of_parameter_);
      });
      if (by_size || std::ranges::any_of(polls_, [&](const Instruction* each) { return waits_for_count(*each); })) {
        return found;
      }
    }
    return nullptr;
  }

  /// Does it count blocks against the size of the grid, to find the last one?
  bool counts_blocks() const {
    return any_instruction(function_, [&](const Instruction& each) {
      if (is_atomic(each)) return reads_any_value(each, of_size_);
      return each.operation() == "setp" && reads_any(each, of_atomic_) &&
             (reads_any(each, of_size_) || names_special(module_, each, "%nctaid"));
    });
  }

 private:
  /// Do blocks count up or down what it reads? Or does the grid's size decide what it reads, or whether?
  bool waits_for_count(const Instruction& poll) {
    const TokenRange address = poll.operands.size() > 1 ? poll.operands[1] : TokenRange{};
    if (reads_any(poll, of_size_)) return true;
    const auto place = address.size() > 0 ? values_.of_address(address) : std::nullopt;
    return is_guarded_by_size(poll) || any_instruction(function_, [&](const Instruction& each) {
             if (!is_atomic(each) || only_reads(module_, each)) return false;
             if (!each.has("add") && !each.has("inc") && !each.has("dec")) return false;
             const TokenRange counted = each.operands[each.operation() == "atom" && each.operands.size() > 1 ? 1 : 0];
             if (module_.source(counted) == module_.source(address)) return true;
             const auto other = values_.of_address(counted);
             return place && other && place->number == other->number;
           });
  }

  bool is_guarded_by_size(const Instruction& poll) {
    for (std::size_t block = 0; block < flow_.exit_block(); ++block) {
      const auto* last = std::get_if<Instruction>(&function_.statements[flow_.blocks()[block].end - 1]);
      if (last == nullptr || last->predicate.empty() || !flow_.blocks()[block].decides()) continue;
      if (!is_made_by_size(last->predicate)) continue;
      for (const std::size_t guarded : DivergentBlocks(flow_).add_choice(block)) {
        for (std::size_t index = flow_.blocks()[guarded].begin; index < flow_.blocks()[guarded].end; ++index) {
          if (std::get_if<Instruction>(&function_.statements[index]) == &poll) return true;
        }
      }
    }
    return false;
  }

  bool is_made_by_size(std::string_view predicate) const {
    return any_instruction(function_, [&](const Instruction& each) {
      if (each.operation() != "setp" || single_name(module_, each, 0) != predicate) return false;
      return reads_any(each, of_size_) || names_special(module_, each, "%nctaid");
    });
  }

  /// Also sets polls_: the loads of the loop that see writes of other blocks. Plain loads fetch data, unless the loop
  /// does nothing but read.
  const Instruction* poll_in(std::size_t cycle) {
    bool is_fenced = false;
    bool writes = false;
    loops_.for_each_instruction_in(cycle, [&](std::size_t, const Instruction& each) {
      is_fenced |= is_memory_fence(each);
      writes |= is_any_of(each.operation(), {"st", "atom", "red", "call"});
    });
    polls_.clear();
    loops_.for_each_instruction_in(cycle, [&](std::size_t, const Instruction& each) {
      const bool sees = watches_other_blocks(each) || (each.operation() == "ld" && sees_other_blocks(each)) ||
                        only_reads(module_, each) || (is_fenced && !writes && is_plain_load(each));
      if (sees) polls_.push_back(&each);
    });
    if (polls_.empty()) return nullptr;
    const RegisterNames read = derived_.from(polls_, true);
    bool decides = false;
    loops_.for_each_instruction_in(cycle, [&](std::size_t, const Instruction& each) {
      decides |= each.operation() == "setp" && reads_any(each, read);
    });
    return decides ? polls_.front() : nullptr;
  }

  bool reads_any(const Instruction& instruction, const RegisterNames& names) const {
    return std::ranges::any_of(names_read(module_, instruction),
                               [&](std::string_view name) { return names.contains(name); });
  }

  /// Only in the operand that is added or exchanged, not in the address.
  bool reads_any_value(const Instruction& atomic, const RegisterNames& names) const {
    for (const TokenRange& operand : atomic.operands) {
      if (module_.token(operand.begin).is("[")) continue;
      for (std::size_t token = operand.begin; token < operand.end; ++token) {
        const std::string_view word = module_.token(token).text;
        const bool is_result = atomic.operation() == "atom" && operand.begin == atomic.operands.front().begin;
        if (!is_result && (names.contains(word) || word.starts_with("%nctaid"))) return true;
      }
    }
    return false;
  }

  const Module& module_;
  const Function& function_;
  const ControlFlow& flow_;
  Loops loops_;
  Derived derived_;
  FixedValues values_;
  RegisterNames of_size_;
  RegisterNames of_parameter_;
  RegisterNames of_atomic_;
  std::vector<const Instruction*> polls_;
};

}  // namespace

std::optional<std::size_t> find_wait_for_all_blocks(const Module& module, FunctionAnalyses& analyses,
                                                    const Function& entry, const std::vector<const Function*>& called) {
  std::vector<const Function*> functions{&entry};
  functions.insert(functions.end(), called.begin(), called.end());
  const Instruction* poll = nullptr;
  bool counts = false;
  for (const Function* function : functions) {
    GridWaits waits(module, *function, analyses.flow(*function));
    if (const Instruction* by_size = waits.poll_by_size()) return by_size->tokens.begin;
    if (poll == nullptr) poll = waits.poll();
    counts = counts || waits.counts_blocks();
  }
  return poll != nullptr && counts ? std::optional(poll->tokens.begin) : std::nullopt;
}

}  // namespace gpushare::ptx
