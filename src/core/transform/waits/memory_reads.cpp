// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/memory_reads.hpp"

#include <algorithm>
#include <array>

namespace gpushare::ptx {
namespace {

/// Does its state space hold memory that other blocks write? Generic addresses may lead there.
bool is_open_to_others(const Instruction& instruction) {
  constexpr std::array<std::string_view, 4> closed{"shared", "local", "param", "const"};
  return std::ranges::none_of(closed, [&](auto space) { return instruction.names_space(space); });
}

bool is_load(const Instruction& instruction) {
  const bool loads = instruction.operation() == "ld" || instruction.opcode.starts_with("multimem.ld_reduce");
  return loads && is_open_to_others(instruction);
}

}  // namespace

bool watches_other_blocks(const Instruction& instruction) {
  return is_load(instruction) && (instruction.has("volatile") || instruction.has("relaxed") ||
                                  instruction.has("acquire") || instruction.has("cv"));
}

bool sees_other_blocks(const Instruction& instruction) {
  if (instruction.operation() == "atom") return is_open_to_others(instruction);
  return is_load(instruction) && instruction.has("cg");
}

bool is_plain_load(const Instruction& instruction) {
  return is_load(instruction) && !instruction.has("nc") && !watches_other_blocks(instruction) &&
         !sees_other_blocks(instruction);
}

bool is_memory_fence(const Instruction& instruction) {
  return instruction.operation() == "membar" || instruction.operation() == "fence";
}

}  // namespace gpushare::ptx
