// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker/worker_needs.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/model/errors.hpp"
#include "core/transform/flow/data_flow.hpp"
#include "core/transform/ptx/block_index_reads.hpp"
#include "core/transform/ptx/called_functions.hpp"
#include "core/transform/ptx/instructions.hpp"
#include "core/transform/waits/divergence.hpp"
#include "core/transform/waits/grid_waits.hpp"
#include "core/transform/waits/mbarriers.hpp"
#include "core/transform/waits/memory_reads.hpp"
#include "core/transform/waits/waits.hpp"
#include "core/transform/waits/warp_waits.hpp"
#include "core/transform/worker/room_for_worker.hpp"
#include "core/transform/worker/system_scope.hpp"
#include "core/transform/worker/worker_control.hpp"
#include "core/transform/worker/worker_text.hpp"

namespace gpushare::ptx {
namespace {

constexpr const char* not_understood = "its PTX is not understood: ";

/// Instructions that no worker can execute: in the kernel, or also in the functions that it calls.
struct Obstacle {
  enum class In { AnyWord, Opcode, OpcodeOfEntry } in;
  std::string_view prefix;
  const char* reason;
};

constexpr std::array obstacles{
    Obstacle{Obstacle::In::AnyWord, "%cluster", "it uses thread block clusters"},
    Obstacle{Obstacle::In::AnyWord, "%nclusterid", "it uses thread block clusters"},
    Obstacle{Obstacle::In::AnyWord, "%is_explicit_cluster", "it uses thread block clusters"},
    Obstacle{Obstacle::In::Opcode, "barrier.cluster", "it uses thread block clusters"},
    Obstacle{Obstacle::In::Opcode, "mapa", "it uses thread block clusters"},
    Obstacle{Obstacle::In::Opcode, "clusterlaunchcontrol", "it cancels blocks to do their work (clusterlaunchcontrol)"},
    Obstacle{Obstacle::In::AnyWord, "%total_smem_size", "it reads how much shared memory it has"},
    Obstacle{Obstacle::In::AnyWord, "%aggr_smem_size", "it reads how much shared memory it has"},
    // It is released only by returning, so each task would take more.
    Obstacle{Obstacle::In::OpcodeOfEntry, "alloca", "it takes memory from the stack (alloca)"},
    Obstacle{Obstacle::In::Opcode, "tcgen05.relinquish_alloc_permit",
             "it gives up allocating tensor memory, so a second task could not"},
    Obstacle{Obstacle::In::AnyWord, "%envreg", "it synchronizes the whole grid (cooperative launch)"},
    Obstacle{Obstacle::In::Opcode, "setmaxnreg", "it moves registers between warps (setmaxnreg)"},
    Obstacle{Obstacle::In::AnyWord, "cudaLaunchDevice", "it launches kernels itself (dynamic parallelism)"},
    Obstacle{Obstacle::In::AnyWord, "cudaGetParameterBuffer", "it launches kernels itself (dynamic parallelism)"},
    Obstacle{Obstacle::In::AnyWord, "__cudaCDP2", "it launches kernels itself (dynamic parallelism)"},
};

const Obstacle* find_obstacle(const Module& module, const Instruction& instruction, bool is_of_entry) {
  for (std::size_t token = instruction.tokens.begin; token < instruction.tokens.end; ++token) {
    const std::string_view word = module.token(token).text;
    for (const Obstacle& obstacle : obstacles) {
      if (word.front() != obstacle.prefix.front() || !word.starts_with(obstacle.prefix)) continue;
      if (obstacle.in == Obstacle::In::OpcodeOfEntry && !is_of_entry) continue;
      if (obstacle.in == Obstacle::In::AnyWord || word.data() == instruction.opcode.data()) return &obstacle;
    }
  }
  return nullptr;
}

Refusal refusal_at(const Module& module, const Instruction& instruction, std::string reason) {
  return {std::move(reason), module.line(instruction.tokens.begin)};
}

std::optional<Refusal> find_obstacle(const Module& module, const Function& function) {
  for (const TokenRange& directive : function.directives) {
    const std::string_view name = module.token(directive.begin).text;
    if (name == ".reqnctapercluster" || name == ".explicitcluster" || name == ".maxclusterrank") {
      return Refusal{"it uses thread block clusters", module.line(directive.begin)};
    }
  }
  std::optional<Refusal> found;
  for_each_instruction(function, [&](const Instruction& instruction) {
    if (found) return;
    if (const Obstacle* obstacle = find_obstacle(module, instruction, function.is_entry)) {
      found = refusal_at(module, instruction, obstacle->reason);
    }
  });
  return found;
}

/// A plain barrier of all threads on barrier 0, the only kind that the single site can replace.
bool is_plain_barrier(const Module& module, const Instruction& instruction) {
  return instruction.has("sync") && !instruction.has("red") && instruction.operands.size() == 1 &&
         module.token(instruction.operands[0].begin).is("0");
}

/// In a called function it is not known whether it is the first task.
std::optional<Refusal> find_reused_mbarrier(const Module& module, const Function& callee) {
  const std::vector<std::size_t> lasting = find_lasting_mbarriers(module, callee);
  if (lasting.empty()) return std::nullopt;
  return Refusal{"a called function initializes an mbarrier that may not have been invalidated at its end",
                 module.line(lasting.front())};
}

using Functions = std::vector<const Function*>;

bool any_barrier_among(const std::vector<bool>& divergent, const Function& function,
                       const CalledInstructions& barriers) {
  for (std::size_t index = 0; index < function.statements.size(); ++index) {
    const auto* instruction = std::get_if<Instruction>(&function.statements[index]);
    if (instruction != nullptr && divergent[index] && barriers.may_be_executed_by(*instruction)) return true;
  }
  return false;
}

/// In the kernel or in its callees, a barrier that some threads may skip.
class DivergentBarriers {
 public:
  DivergentBarriers(const Module& module, FunctionAnalyses& analyses, const Function& entry, const Functions& called)
      : module_(module),
        analyses_(analyses),
        entry_(entry),
        called_(called),
        barriers_(module, called, is_block_barrier) {}

  bool any() {
    return any_barrier_among(analyses_.divergent_statements(entry_, ThreadGroup{}), entry_, barriers_) ||
           any_in_called();
  }

  /// The fewest loads that one thread has to do for all so that no barrier remains divergent; nothing where that does
  /// not help.
  std::optional<std::vector<std::size_t>> loads_for_all() {
    const ControlFlow& flow = analyses_.flow(entry_);
    const LoadsForAll candidates = find_loads_for_all(module_, entry_, flow);
    if (candidates.empty() || candidates.size() > most_loads_tried || any_in_called()) return std::nullopt;
    if (uses_barrier_0_in_parts()) return std::nullopt;
    if (any_in_entry(flow, candidates)) return std::nullopt;
    std::vector<std::size_t> needed;
    for (const std::size_t load : candidates) {
      LoadsForAll others = candidates;
      others.erase(load);
      if (any_in_entry(flow, others)) needed.push_back(load);
      if (needed.size() > most_loads_for_all) return std::nullopt;
    }
    std::ranges::sort(needed);
    return needed;
  }

 private:
  /// Each takes an analysis.
  static constexpr std::size_t most_loads_tried = 100;
  static constexpr std::size_t most_loads_for_all = 8;

  bool any_in_entry(const ControlFlow& flow, const LoadsForAll& for_all) const {
    return any_barrier_among(divergent_statements(module_, entry_, flow, ThreadGroup{}, for_all), entry_, barriers_);
  }

  /// A load for all meets at barrier 0, at which a part of the threads may have arrived then, or be counted.
  bool uses_barrier_0_in_parts() const {
    const auto in_parts = [&](const Instruction& barrier) {
      if (!is_block_barrier(barrier)) return false;
      const std::size_t number = barrier.has("red") ? 1 : 0;
      if (number >= barrier.operands.size()) return true;
      const bool is_counted = barrier.has("arrive") || barrier.operands.size() != (barrier.has("red") ? 3u : 1u);
      const auto which = parsed_number(module_, barrier.operands[number]);
      return !which || (*which == 0 && is_counted);
    };
    return any_instruction(entry_, in_parts) ||
           std::ranges::any_of(called_, [&](const Function* callee) { return any_instruction(*callee, in_parts); });
  }

  bool any_in_called() const {
    return barriers_.any() && std::ranges::any_of(called_, [&](const Function* callee) {
             return any_barrier_among(analyses_.divergent_statements(*callee, ThreadGroup{}), *callee, barriers_);
           });
  }

  const Module& module_;
  FunctionAnalyses& analyses_;
  const Function& entry_;
  const Functions& called_;
  CalledInstructions barriers_;
};

/// The single site could not jump back there: names declared in braces are not visible beyond them.
std::optional<Refusal> find_barrier_in_inner_scope(const Module& module, const Function& entry) {
  int depth = 0;
  for (const Statement& statement : entry.statements) {
    if (const auto* block = std::get_if<Block>(&statement)) depth += block->brace == Brace::Open ? 1 : -1;
    const auto* instruction = std::get_if<Instruction>(&statement);
    if (instruction == nullptr || depth == 1 || !is_block_barrier(*instruction)) continue;
    return refusal_at(module, *instruction,
                      "some threads may return before others meet at a barrier in a scope of its own");
  }
  return std::nullopt;
}

std::optional<Refusal> find_unsuitable_barrier(const Module& module, const Function& entry, const Functions& called) {
  std::optional<Refusal> found;
  const auto examine = [&](const Function& function, bool plain_is_good) {
    for_each_instruction(function, [&](const Instruction& instruction) {
      if (found || !is_block_barrier(instruction)) return;
      if (plain_is_good && is_plain_barrier(module, instruction)) return;
      found = refusal_at(module, instruction,
                         plain_is_good
                             ? "some threads may return before others meet at a counted, named or reducing barrier"
                             : "some threads may return before others meet at a barrier in a called function");
    });
  };
  examine(entry, true);
  for (const Function* callee : called) examine(*callee, false);
  return found ? found : find_barrier_in_inner_scope(module, entry);
}

std::optional<Refusal> find_unsuitable_block_index(const Module& module, const Function& function, bool is_callee) {
  std::optional<Refusal> found;
  for_each_instruction(function, [&](const Instruction& instruction) {
    if (found || !reads_block_index(module, instruction) || is_replaceable(module, instruction, is_callee)) return;
    found = refusal_at(module, instruction,
                       is_callee               ? "a called function reads the block index in an unusual way"
                       : instruction.has("v4") ? "it reads the block index as a vector"
                                               : "it reads the block index in an unusual way");
  });
  return found;
}

std::optional<Refusal> find_exit_in(const Module& module, const Function& callee) {
  std::optional<Refusal> found;
  for_each_instruction(callee, [&](const Instruction& instruction) {
    if (!found && instruction.operation() == "exit") {
      found = refusal_at(module, instruction, "a called function ends its thread (exit)");
    }
  });
  return found;
}

/// The block shapes of .reqntid, as far as it restricts them.
std::optional<std::array<std::int64_t, 3>> required_block(const Module& module, const Function& entry) {
  for (const TokenRange& directive : entry.directives) {
    if (!module.token(directive.begin).is(".reqntid")) continue;
    std::array<std::int64_t, 3> block{1, 1, 1};
    std::size_t dimension = 0;
    for (std::size_t token = directive.begin + 1; token < directive.end; ++token) {
      const auto number = parsed_number(module, {token, token + 1});
      if (number && dimension < block.size()) block[dimension++] = *number;
    }
    return block;
  }
  return std::nullopt;
}

/// Ordered from those that hold for most blocks to those that hold for few.
std::vector<BlockShapes> shapes_to_try(const Module& module, const Function& entry) {
  using Kind = BlockShapes::Kind;
  std::vector<BlockShapes> shapes{{Kind::Any}, {Kind::Flat}, {Kind::Lines}, {Kind::WholeWarps}};
  for (const std::int64_t width : {16, 8}) shapes.push_back({Kind::OneWidth, width});
  if (const auto block = required_block(module, entry)) {
    std::erase_if(shapes, [&](const BlockShapes& each) { return !each.suit((*block)[0], (*block)[1], (*block)[2]); });
  }
  return shapes;
}

/// The blocks in which no lane waits for one that may have returned, or the wait that prevents it.
std::variant<BlockShapes, Refusal> find_blocks(const Module& module, FunctionAnalyses& analyses, const Function& entry,
                                               const Functions& called) {
  const Instruction* wait = nullptr;
  for (const BlockShapes& blocks : shapes_to_try(module, entry)) {
    wait = find_wait_for_missing_lanes(module, analyses, entry, called, blocks);
    if (wait == nullptr) return blocks;
  }
  if (wait == nullptr) return BlockShapes{};
  return refusal_at(module, *wait,
                    "some lanes of a warp may return before others wait for them (" + std::string(wait->operation()) +
                        (wait->operation() == "bar" ? ".warp.sync)" : ")"));
}

std::optional<Refusal> find_unknown(const Function& function) {
  if (function.not_understood.empty()) return std::nullopt;
  return Refusal{not_understood + function.not_understood};
}

std::optional<Refusal> find_refusal(const Module& module, const Function& entry, const Functions& called) {
  if (auto unknown = find_unknown(entry)) return unknown;
  if (std::ranges::find(entry.parameters, "gpushare_worker", &Parameter::name) != entry.parameters.end()) {
    return Refusal{"it is a worker already", module.line(entry.name_token)};
  }
  if (auto obstacle = find_obstacle(module, entry)) return obstacle;
  if (auto unsuitable = find_unsuitable_block_index(module, entry, false)) return unsuitable;
  for (const Function* callee : called) {
    if (auto unknown = find_unknown(*callee)) return unknown;
    if (auto obstacle = find_obstacle(module, *callee)) return obstacle;
    if (auto unsuitable = find_unsuitable_block_index(module, *callee, true)) return unsuitable;
    if (auto reused = find_reused_mbarrier(module, *callee)) return reused;
    if (auto exits = find_exit_in(module, *callee)) return exits;
  }
  if (!has_room_for_parameter(module, entry, sizeof(WorkerParameters))) {
    return Refusal{"its parameters leave no room for that of a worker"};
  }
  return std::nullopt;
}

WorkerNeeds find_needs(const Module& module, const Function& entry, Functions functions) {
  WorkerNeeds needs;
  for (const Function* callee : functions) {
    needs.functions_read_block_index |=
        any_instruction(*callee, [&](const auto& each) { return reads_block_index(module, each); });
  }
  functions.push_back(&entry);
  for (const Function* function : functions) {
    for_each_instruction(*function, [&](const Instruction& instruction) {
      needs.barrier_between_tasks |= instruction.names_space("shared") || is_block_barrier(instruction);
      needs.waits_for_bulk_copies |=
          instruction.opcode.starts_with("cp.async.bulk") || instruction.opcode.starts_with("cp.reduce.async.bulk");
      needs.waits_for_copies |= instruction.opcode.starts_with("cp.async.c");
      needs.waits_for_blocks |= watches_other_blocks(instruction);
      needs.keeps_shared_alignment |= instruction.opcode.starts_with("wgmma") ||
                                      instruction.opcode.starts_with("tcgen05") ||
                                      instruction.opcode.starts_with("cp.async.bulk");
    });
  }
  needs.barrier_between_tasks |=
      needs.functions_read_block_index || needs.waits_for_copies || needs.waits_for_bulk_copies;
  return needs;
}

/// In the kernel or in its callees.
bool may_wait_in_loop(const Module& module, FunctionAnalyses& analyses, const Function& entry,
                      const Functions& called) {
  const ExecutedReads reads(module, called);
  if (analyses.waits_in_loop(entry, reads)) return true;
  return std::ranges::any_of(called, [&](const Function* callee) { return analyses.waits_in_loop(*callee, reads); });
}

std::optional<Refusal> find_bound_to_one_device(const Module& module, const Function& entry, const Functions& called) {
  if (auto bound = find_bound_to_one_device(module, entry)) return bound;
  for (const Function* callee : called) {
    if (auto bound = find_bound_to_one_device(module, *callee)) return bound;
  }
  return std::nullopt;
}

std::variant<WorkerNeeds, Refusal> judge_understood(const Module& module, const Function& entry,
                                                    FunctionAnalyses& analyses, Reach reach) {
  const Functions called = callees(module, entry);
  if (auto refusal = find_refusal(module, entry, called)) return *std::move(refusal);
  auto blocks = find_blocks(module, analyses, entry, called);
  if (auto* refusal = std::get_if<Refusal>(&blocks)) return std::move(*refusal);
  if (const auto wait = find_wait_for_all_blocks(module, analyses, entry, called)) {
    return Refusal{"its blocks wait for others that may not have begun", module.line(*wait), true};
  }
  WorkerNeeds needs = find_needs(module, entry, called);
  needs.reach = reach;
  needs.lasting_mbarriers = find_lasting_mbarriers(module, entry);
  needs.blocks = std::get<BlockShapes>(blocks);
  DivergentBarriers barriers(module, analyses, entry, called);
  if (barriers.any()) {
    if (const auto loads = barriers.loads_for_all()) {
      for (const std::size_t load : *loads) {
        needs.loads_for_all.push_back(std::get<Instruction>(entry.statements[load]).tokens.begin);
      }
    } else {
      if (auto unsuitable = find_unsuitable_barrier(module, entry, called)) return *std::move(unsuitable);
      needs.single_barrier_site = true;
    }
  }
  if (needs.functions_read_block_index && needs.keeps_shared_alignment) {
    return Refusal{"called functions read the block index, and its shared memory has to stay where it is"};
  }
  if (static_shared_bytes(module, entry, called) + worker_text::shared_bytes(needs) > most_static_shared_bytes) {
    return Refusal{"its shared memory leaves no room for that of a worker"};
  }
  needs.waits_for_blocks = needs.waits_for_blocks || may_wait_in_loop(module, analyses, entry, called);
  if (reach == Reach::OneDevice) return needs;
  if (auto bound = find_bound_to_one_device(module, entry, called)) return *std::move(bound);
  if (may_wait_in_loop(module, analyses, entry, called)) {
    return Refusal{"its blocks may wait for others"};
  }
  return needs;
}

}  // namespace

std::variant<WorkerNeeds, Refusal> judge(const Module& module, const Function& entry, FunctionAnalyses& analyses,
                                         Reach reach) {
  try {
    return judge_understood(module, entry, analyses, reach);
  } catch (const InvalidInput& error) {  // as of a branch that goes nowhere, which the assembler will not take either
    return Refusal{not_understood + std::string(error.what())};
  }
}

}  // namespace gpushare::ptx
