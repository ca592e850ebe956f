// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/block_index_reads.hpp"

namespace gpushare::ptx {
namespace {

bool is_block_index(const Token& token) {
  return token.text.starts_with("%ctaid") || token.text.starts_with("%nctaid");
}

/// The number of components of the block index and of the grid's size that an instruction reads.
struct BlockIndexReads {
  int components = 0;
  int grid_sizes = 0;  ///< among them
  int others = 0;      ///< vectors, and components by the names of colours
};

BlockIndexReads count_block_index_reads(const Module& module, const Instruction& instruction) {
  BlockIndexReads reads;
  for (std::size_t index = instruction.tokens.begin; index < instruction.tokens.end; ++index) {
    const std::string_view text = module.token(index).text;
    const bool is_grid_size = text.starts_with("%nctaid");
    if (!is_grid_size && !text.starts_with("%ctaid")) continue;
    const std::string_view component = text.substr(text.find('d') + 1);
    if (component == ".x" || component == ".y" || component == ".z") {
      ++reads.components;
      reads.grid_sizes += is_grid_size ? 1 : 0;
    } else {
      ++reads.others;
    }
  }
  return reads;
}

}  // namespace

bool reads_block_index(const Module& module, const Instruction& instruction) {
  for (std::size_t token = instruction.tokens.begin; token < instruction.tokens.end; ++token) {
    if (is_block_index(module.token(token))) return true;
  }
  return false;
}

/// Sixteen-bit components would have to be narrowed, one by one.
bool reads_block_index_as_vector(const Module& module, const Instruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  if (opcode != "mov.v4.u32" && opcode != "mov.v4.b32" && opcode != "mov.v4.s32") return false;
  if (instruction.operands.size() != 2 || instruction.operands[1].size() != 1) return false;
  const Token& source = module.token(instruction.operands[1].begin);
  return (source.is("%ctaid") || source.is("%nctaid")) && vector_destinations(module, instruction).size() == 4;
}

std::vector<std::string> vector_destinations(const Module& module, const Instruction& instruction) {
  const TokenRange range = instruction.operands.at(0);
  std::vector<std::string> destinations;
  if (range.size() == 1 && module.token(range.begin).kind == TokenKind::Word) {
    for (const char* component : {".x", ".y", ".z", ".w"}) {
      destinations.push_back(std::string(module.token(range.begin).text) + component);
    }
    return destinations;
  }
  if (range.size() != 9 || !module.token(range.begin).is("{")) return destinations;  // {a, b, c, d}
  for (std::size_t token = range.begin; token < range.end; ++token) {
    if (module.token(token).kind == TokenKind::Word) destinations.emplace_back(module.token(token).text);
  }
  return destinations;
}

/// In an entry, mov.b64 %rd1, {%ctaid.x, %ctaid.y} is as good as a plain read. There is one register for grid sizes.
/// In a called function the whole instruction becomes a load.
bool is_replaceable(const Module& module, const Instruction& instruction, bool in_called_function) {
  if (reads_block_index_as_vector(module, instruction)) return true;
  const BlockIndexReads reads = count_block_index_reads(module, instruction);
  if (reads.others > 0 || reads.grid_sizes > 1) return false;
  if (!in_called_function) return true;
  const bool plain =
      instruction.opcode == "mov.u32" || instruction.opcode == "mov.b32" || instruction.opcode == "mov.s32";
  return plain && reads.components == 1 && instruction.operands.size() == 2 && instruction.operands[1].size() == 1 &&
         is_block_index(module.token(instruction.operands[1].begin));
}

}  // namespace gpushare::ptx
