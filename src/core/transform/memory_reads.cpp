// SPDX-License-Identifier: Apache-2.0
#include "core/transform/memory_reads.hpp"

#include <algorithm>
#include <array>

namespace gpushare::ptx {
namespace {

/// Generic addresses count, as they may lead anywhere.
bool is_of_the_block(const Instruction& instruction) {
  constexpr std::array<std::string_view, 4> spaces{".shared", ".local", ".param", ".const"};
  return std::ranges::any_of(spaces,
                             [&](auto space) { return instruction.opcode.find(space) != std::string_view::npos; });
}

bool is_load(const Instruction& instruction) {
  const bool loads = instruction.operation() == "ld" || instruction.opcode.starts_with("multimem.ld_reduce");
  return loads && !is_of_the_block(instruction);
}

}  // namespace

bool watches_other_blocks(const Instruction& instruction) {
  return is_load(instruction) && (instruction.has("volatile") || instruction.has("relaxed") ||
                                  instruction.has("acquire") || instruction.has("cv"));
}

bool sees_other_blocks(const Instruction& instruction) {
  if (instruction.operation() == "atom") return !is_of_the_block(instruction);
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
