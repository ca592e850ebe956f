// SPDX-License-Identifier: Apache-2.0
#include "core/transform/flow/data_flow.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/transform/ptx/instructions.hpp"

namespace gpushare::ptx {
namespace {

using NameList = std::vector<std::string_view>;

void add_words(const Module& module, TokenRange range, NameList& names) {
  for (std::size_t token = range.begin; token < range.end; ++token) {
    if (module.token(token).kind == TokenKind::Word) names.push_back(without_component(module.token(token).text));
  }
}

/// Is the first operand written, and not a place in memory, or read?
bool has_result(const Module& module, const Instruction& instruction) {
  if (instruction.operands.empty() || module.token(instruction.operands.front().begin).is("[")) return false;
  const std::string_view operation = instruction.operation();
  if (operation == "bar" || operation == "barrier") return instruction.has("red");
  return !is_any_of(operation, {"bra", "brx", "call", "nanosleep"});
}

bool returns_value(const Module& module, const Instruction& instruction) {
  return instruction.operation() == "call" && !instruction.operands.empty() &&
         instruction.operands.front().size() > 0 && module.token(instruction.operands.front().begin).is("(");
}

/// Calls do all that the called function does, and generic addresses may lead to any memory.
void add_memory(const Instruction& instruction, NameList& names) {
  constexpr std::array<std::string_view, 5> spaces{"shared", "local", "global", "param", "const"};
  const bool generic = std::ranges::none_of(spaces, [&](auto space) { return instruction.names_space(space); });
  if (generic || instruction.names_space("shared")) names.emplace_back("[shared]");
  if (generic || instruction.names_space("local")) names.emplace_back("[local]");
}

/// The carry flag, which chains of additions hand on.
constexpr std::string_view carry = "CC.CF";

}  // namespace

std::string_view without_component(std::string_view word) {
  return word.starts_with('.') ? word : word.substr(0, word.find('.'));
}

NameList names_read(const Module& module, const Instruction& instruction) {
  NameList names;
  if (!instruction.predicate.empty()) names.push_back(instruction.predicate);
  if (is_any_of(instruction.operation(), {"addc", "subc", "madc"})) names.push_back(carry);
  const bool first_is_written = has_result(module, instruction) || returns_value(module, instruction);
  for (std::size_t operand = first_is_written ? 1 : 0; operand < instruction.operands.size(); ++operand) {
    add_words(module, instruction.operands[operand], names);
  }
  if (is_any_of(instruction.operation(), {"ld", "atom", "ldmatrix", "wmma", "call", "cp"})) {
    add_memory(instruction, names);
  }
  return names;
}

NameList names_written(const Module& module, const Instruction& instruction) {
  NameList names;
  const std::string_view operation = instruction.operation();
  if (instruction.has("cc")) names.push_back(carry);
  if (!instruction.operands.empty()) {
    const TokenRange first = instruction.operands.front();
    const bool hands_over = operation == "st" && instruction.names_space("param");
    if (has_result(module, instruction) || returns_value(module, instruction) || hands_over) {
      add_words(module, first, names);
    }
  }
  if (is_any_of(operation, {"st", "red", "atom", "stmatrix", "wmma", "call", "cp"})) add_memory(instruction, names);
  return names;
}

std::string_view single_name(const Module& module, const Instruction& instruction, std::size_t operand) {
  if (operand >= instruction.operands.size() || instruction.operands[operand].size() != 1) return {};
  const Token& token = module.token(instruction.operands[operand].begin);
  return token.kind == TokenKind::Word ? without_component(token.text) : std::string_view();
}

std::optional<std::int64_t> parsed_number(const Module& module, TokenRange operand) {
  const bool is_negative = operand.size() == 2 && module.token(operand.begin).is("-");
  if (operand.size() != 1 && !is_negative) return std::nullopt;
  const Token& token = module.token(operand.end - 1);
  if (token.kind != TokenKind::Number) return std::nullopt;
  std::string_view text = token.text;
  if (text.ends_with('U')) text.remove_suffix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) base = 16;
  if (text.starts_with("0b") || text.starts_with("0B")) base = 2;
  if (base != 10) text.remove_prefix(2);
  if (base == 10 && text.size() > 1 && text.starts_with('0')) base = 8;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<std::int64_t>(is_negative ? -value : value);
}

}  // namespace gpushare::ptx
