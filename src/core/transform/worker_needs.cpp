// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker_needs.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "core/transform/divergence.hpp"

namespace gpushare::ptx {
namespace {

using Matches = std::function<bool(const Module&, const Instruction&)>;

template <typename Use>
void for_each_instruction(const Function& function, Use use) {
  for (const Statement& statement : function.statements) {
    if (const auto* instruction = std::get_if<Instruction>(&statement)) use(*instruction);
  }
}

bool names(const Module& module, const Instruction& instruction, std::string_view prefix) {
  for (std::size_t token = instruction.tokens.begin; token < instruction.tokens.end; ++token) {
    if (module.token(token).text.starts_with(prefix)) return true;
  }
  return false;
}

Matches naming(std::string_view prefix) {
  return [prefix](const Module& module, const Instruction& instruction) { return names(module, instruction, prefix); };
}

Matches operation(std::string_view opcode) {
  return [opcode](const Module&, const Instruction& instruction) { return instruction.opcode.starts_with(opcode); };
}

/// What no worker can do, wherever it stands in the kernel or in what it calls.
struct Obstacle {
  Matches matches;
  const char* reason;
};

const std::array obstacles{
    Obstacle{naming("%cluster"), "it uses thread block clusters"},
    Obstacle{naming("%nclusterid"), "it uses thread block clusters"},
    Obstacle{naming("%is_explicit_cluster"), "it uses thread block clusters"},
    Obstacle{operation("barrier.cluster"), "it uses thread block clusters"},
    Obstacle{operation("mapa"), "it uses thread block clusters"},
    Obstacle{naming("%envreg"), "it synchronizes the whole grid (cooperative launch)"},
    Obstacle{operation("setmaxnreg"), "it moves registers between warps (setmaxnreg)"},
    Obstacle{operation("griddepcontrol"), "it is launched dependent on another grid (griddepcontrol)"},
    Obstacle{naming("cudaLaunchDevice"), "it launches kernels itself (dynamic parallelism)"},
    Obstacle{naming("cudaGetParameterBuffer"), "it launches kernels itself (dynamic parallelism)"},
    Obstacle{naming("__cudaCDP2"), "it launches kernels itself (dynamic parallelism)"},
};

Refusal refusal_at(const Module& module, const Instruction& instruction, std::string reason) {
  return {std::move(reason), line_of(module.text, module.token(instruction.tokens.begin).offset)};
}

std::optional<Refusal> find_obstacle(const Module& module, const Function& function) {
  for (const TokenRange& directive : function.directives) {
    const std::string_view name = module.token(directive.begin).text;
    if (name == ".reqnctapercluster" || name == ".explicitcluster" || name == ".maxclusterrank") {
      return Refusal{"it uses thread block clusters", line_of(module.text, module.token(directive.begin).offset)};
    }
  }
  std::optional<Refusal> found;
  for_each_instruction(function, [&](const Instruction& instruction) {
    for (const Obstacle& obstacle : obstacles) {
      if (!found && obstacle.matches(module, instruction)) found = refusal_at(module, instruction, obstacle.reason);
    }
  });
  return found;
}

bool any_instruction(const Function& function, const std::function<bool(const Instruction&)>& matches) {
  bool any = false;
  for_each_instruction(function, [&](const Instruction& instruction) { any |= matches(instruction); });
  return any;
}

/// An mbarrier object must not be initialized again while it is valid, as the next task would.
std::optional<Refusal> find_reused_mbarrier(const Module& module, const Function& function) {
  const bool invalidates =
      any_instruction(function, [](const auto& each) { return each.opcode.starts_with("mbarrier.inval"); });
  std::optional<Refusal> found;
  for_each_instruction(function, [&](const Instruction& instruction) {
    if (found || invalidates || !instruction.opcode.starts_with("mbarrier.init")) return;
    found = refusal_at(module, instruction,
                       "it initializes an mbarrier and never invalidates it, so a second task could not");
  });
  return found;
}

/// A plain barrier of all threads on barrier 0, the only kind that the single site can stand for.
bool is_plain_barrier(const Module& module, const Instruction& instruction) {
  return instruction.has("sync") && !instruction.has("red") && instruction.operands.size() == 1 &&
         module.token(instruction.operands[0].begin).is("0");
}

bool has_divergent_barrier(const Module& module, const Function& function) {
  const ControlFlow flow(module, function);
  const std::vector<bool> divergent = divergent_statements(module, function, flow);
  for (std::size_t index = 0; index < function.statements.size(); ++index) {
    const auto* instruction = std::get_if<Instruction>(&function.statements[index]);
    if (instruction == nullptr || !divergent[index]) continue;
    if (is_block_barrier(*instruction)) return true;
    if (instruction->operation() != "call") continue;
    for (const Function* callee : callees(module, function)) {
      if (names(module, *instruction, callee->name) && any_instruction(*callee, is_block_barrier)) return true;
    }
  }
  return false;
}

std::optional<Refusal> find_unsuitable_barrier(const Module& module, const Function& entry) {
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
  for (const Function* callee : callees(module, entry)) examine(*callee, false);
  return found;
}

std::optional<Refusal> find_unsuitable_block_index(const Module& module, const Function& function, bool is_callee) {
  std::optional<Refusal> found;
  for_each_instruction(function, [&](const Instruction& instruction) {
    if (found || !reads_block_index(module, instruction)) return;
    const bool vector = names(module, instruction, "%ctaid") && instruction.has("v4");
    const bool plain =
        instruction.opcode == "mov.u32" || instruction.opcode == "mov.b32" || instruction.opcode == "mov.s32";
    if (vector) found = refusal_at(module, instruction, "it reads the block index as a vector");
    if (is_callee && !plain)
      found = refusal_at(module, instruction, "a called function reads the block index in an unusual way");
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

}  // namespace

bool reads_block_index(const Module& module, const Instruction& instruction) {
  return names(module, instruction, "%ctaid") || names(module, instruction, "%nctaid");
}

std::vector<const Function*> callees(const Module& module, const Function& function) {
  std::vector<const Function*> found;
  std::vector<const Function*> open{&function};
  while (!open.empty()) {
    const Function* caller = open.back();
    open.pop_back();
    for (const Function& candidate : module.functions) {
      if (!candidate.has_body || candidate.is_entry || std::ranges::find(found, &candidate) != found.end()) continue;
      // A name in any instruction counts, so that functions whose address is taken are found too.
      const bool used = any_instruction(*caller, [&](const auto& each) { return names(module, each, candidate.name); });
      if (!used) continue;
      found.push_back(&candidate);
      open.push_back(&candidate);
    }
  }
  return found;
}

std::optional<Refusal> find_refusal(const Module& module, const Function& entry) {
  if (auto obstacle = find_obstacle(module, entry)) return obstacle;
  if (auto unsuitable = find_unsuitable_block_index(module, entry, false)) return unsuitable;
  if (auto reused = find_reused_mbarrier(module, entry)) return reused;
  for (const Function* callee : callees(module, entry)) {
    if (auto obstacle = find_obstacle(module, *callee)) return obstacle;
    if (auto unsuitable = find_unsuitable_block_index(module, *callee, true)) return unsuitable;
    if (auto reused = find_reused_mbarrier(module, *callee)) return reused;
    if (auto exits = find_exit_in(module, *callee)) return exits;
  }
  if (has_divergent_barrier(module, entry)) return find_unsuitable_barrier(module, entry);
  return std::nullopt;
}

WorkerNeeds find_needs(const Module& module, const Function& entry) {
  WorkerNeeds needs{.single_barrier_site = has_divergent_barrier(module, entry)};
  std::vector<const Function*> functions = callees(module, entry);
  for (const Function* callee : functions) {
    needs.functions_read_block_index |=
        any_instruction(*callee, [&](const auto& each) { return reads_block_index(module, each); });
  }
  functions.push_back(&entry);
  for (const Function* function : functions) {
    for_each_instruction(*function, [&](const Instruction& instruction) {
      needs.barrier_between_tasks |=
          instruction.opcode.find(".shared") != std::string_view::npos || is_block_barrier(instruction);
      needs.waits_for_bulk_copies |=
          instruction.opcode.starts_with("cp.async.bulk") || instruction.opcode.starts_with("cp.reduce.async.bulk");
      needs.waits_for_copies |= instruction.opcode.starts_with("cp.async.c");
    });
  }
  needs.barrier_between_tasks |=
      needs.functions_read_block_index || needs.waits_for_copies || needs.waits_for_bulk_copies;
  return needs;
}

}  // namespace gpushare::ptx
