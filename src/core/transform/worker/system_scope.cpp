// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker/system_scope.hpp"

#include "core/transform/ptx/instructions.hpp"
#include "core/transform/ptx/text_edits.hpp"
#include "core/transform/waits/memory_reads.hpp"

namespace gpushare::ptx {
namespace {

bool names_scope(const Instruction& instruction) {
  return instruction.has("cta") || instruction.has("cluster") || instruction.has("gpu") || instruction.has("sys");
}

/// The scope stands behind the order of memory, where one is named.
std::size_t place_of_scope(std::string_view opcode) {
  std::size_t end = std::min(opcode.find('.'), opcode.size());
  const std::size_t next = std::min(opcode.find('.', end + 1), opcode.size());
  if (end < next && is_any_of(opcode.substr(end + 1, next - end - 1), {"relaxed", "acquire", "release", "acq_rel"})) {
    end = next;
  }
  return end;
}

std::string widened(const Instruction& instruction) {
  std::string opcode(instruction.opcode);
  if (instruction.operation() == "membar" && instruction.has("gl")) return "membar.sys";
  if (instruction.has("gpu")) {
    std::size_t at = opcode.find(".gpu");
    while (at + 4 < opcode.size() && opcode[at + 4] != '.') at = opcode.find(".gpu", at + 1);
    return opcode.replace(at, 4, ".sys");
  }
  const bool is_atomic = is_any_of(instruction.operation(), {"atom", "red"});
  if (is_atomic && !names_scope(instruction) && !instruction.names_space("shared")) {
    opcode.insert(place_of_scope(opcode), ".sys");
  }
  return opcode;
}

Refusal refusal_at(const Module& module, const Instruction& instruction, const char* reason) {
  return {reason, module.line(instruction.tokens.begin)};
}

/// Memory from the device's heap.
bool allocates(const Module& module, const Instruction& instruction) {
  if (instruction.operation() != "call") return false;
  for (std::size_t token = instruction.tokens.begin; token < instruction.tokens.end; ++token) {
    if (is_any_of(module.token(token).text, {"malloc", "free"})) return true;
  }
  return false;
}

}  // namespace

std::string with_system_scope(const Module& module) {
  TextEdits edits;
  for (const Function& function : module.functions) {
    for_each_instruction(function, [&](const Instruction& instruction) {
      const std::string opcode = widened(instruction);
      if (opcode == instruction.opcode) return;
      const auto offset = static_cast<std::size_t>(instruction.opcode.data() - module.text.data());
      edits.replace(offset, instruction.opcode.size(), opcode);
    });
  }
  return edits.apply(module.text);
}

std::optional<Refusal> find_bound_to_one_device(const Module& module, const Function& function) {
  std::optional<Refusal> found;
  for_each_instruction(function, [&](const Instruction& instruction) {
    if (found) return;
    const bool is_private = instruction.names_space("shared") || instruction.names_space("local");
    if (instruction.operation() == "multimem" || instruction.opcode.starts_with("cp.reduce")) {
      found = refusal_at(module, instruction, "it reduces in memory with the scope of one GPU");
    } else if (allocates(module, instruction)) {
      found = refusal_at(module, instruction, "it allocates memory of the GPU that it runs on (malloc)");
    } else if (watches_other_blocks(instruction) && !is_private) {
      found = refusal_at(module, instruction, "its blocks may wait for others: it reads memory as volatile");
    }
  });
  return found;
}

}  // namespace gpushare::ptx
