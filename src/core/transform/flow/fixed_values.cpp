// SPDX-License-Identifier: Apache-2.0
#include "core/transform/flow/fixed_values.hpp"

#include <algorithm>
#include <array>

#include "core/transform/flow/data_flow.hpp"

namespace gpushare::ptx {
namespace {

constexpr int deepest_chain = 200;

/// Special registers that may change while a thread runs.
bool is_unsteady(std::string_view word) {
  constexpr std::array<std::string_view, 6> prefixes{"%clock", "%globaltimer", "%pm", "%warpid", "%smid", "%envreg"};
  return std::ranges::any_of(prefixes, [&](auto prefix) { return word.starts_with(prefix); });
}

/// Does the result depend on the operands alone?
bool is_pure(const Instruction& instruction) {
  constexpr std::array<std::string_view, 19> operations{"add", "sub",  "mul", "mad",  "min", "max", "neg",
                                                        "shl", "shr",  "and", "or",   "xor", "not", "lop3",
                                                        "cvt", "cvta", "bfe", "setp", "selp"};
  return std::ranges::find(operations, instruction.operation()) != operations.end();
}

/// The negation of `setp.eq` of the same operands? Not for floats: with a NaN neither `eq` nor `ne` holds.
bool negates_equality(const Instruction& instruction) {
  if (!instruction.opcode.starts_with("setp.ne.") || instruction.operands.size() != 3) return false;
  const std::string_view type = instruction.opcode.substr(instruction.opcode.rfind('.') + 1);
  return type.starts_with('s') || type.starts_with('u') || (type.starts_with('b') && !type.starts_with("bf"));
}

}  // namespace

FixedValues::FixedValues(const Module& module, const Function& function, const ControlFlow& flow, const Cycles& cycles)
    : module_(module), function_(function), flow_(flow), cycles_(cycles) {
  for (std::size_t index = 0; index < function.statements.size(); ++index) {
    const auto* instruction = std::get_if<Instruction>(&function.statements[index]);
    if (instruction == nullptr) continue;
    for (const std::string_view name : names_written(module, *instruction)) writers_[name].push_back(index);
  }
}

std::optional<FixedValues::Value> FixedValues::of(std::string_view word) {
  if (const auto known = known_.find(word); known != known_.end()) return known->second;
  known_[word] = std::nullopt;  // until found, for values that depend on themselves
  ++depth_;
  const std::optional<Value> found = depth_ < deepest_chain ? find(word) : std::nullopt;
  --depth_;
  return known_[word] = found;
}

std::optional<FixedValues::Value> FixedValues::of_address(TokenRange operand) {
  if (operand.size() == 3) return of(module_.token(operand.begin + 1).text);
  const auto description = described(operand);
  return description ? std::optional(numbered(*description)) : std::nullopt;
}

/// A register that is assigned once has a fixed value, unless a loop executes the assignment again.
std::optional<FixedValues::Value> FixedValues::find(std::string_view word) {
  const auto writers = writers_.find(without_component(word));
  if (writers == writers_.end()) return is_unsteady(word) ? std::nullopt : std::optional(numbered(std::string(word)));
  const auto& writer = std::get<Instruction>(function_.statements[writers->second.front()]);
  const bool is_whole = without_component(word) == word;
  if (writers->second.size() > 1 || !writer.predicate.empty() || !is_whole) return std::nullopt;
  if (const auto value = computed(writer)) return value;
  if (cycles_.of(flow_.block_of(writers->second.front())) != Cycles::none) return std::nullopt;
  return numbered(std::string(word));
}

std::optional<FixedValues::Value> FixedValues::computed(const Instruction& instruction) {
  if (instruction.operands.size() < 2 || instruction.operands[0].size() != 1) return std::nullopt;
  const TokenRange source = instruction.operands[1];
  if (instruction.operation() == "mov" && source.size() == 1) return of(module_.token(source.begin).text);
  if (instruction.opcode == "not.pred" && source.size() == 1) {
    const auto value = of(module_.token(source.begin).text);
    return value ? std::optional(Value{value->number, !value->negated}) : std::nullopt;
  }
  if (!is_pure(instruction) && !is_parameter_load(instruction)) return std::nullopt;
  std::string opcode(instruction.opcode);
  const bool negated = negates_equality(instruction);
  if (negated) opcode.replace(5, 2, "eq");
  for (std::size_t operand = 1; operand < instruction.operands.size(); ++operand) {
    const auto description = described(instruction.operands[operand]);
    if (!description) return std::nullopt;
    opcode += ' ' + *description;
  }
  return Value{numbered(opcode).number, negated};
}

/// The operand with the numbers of its values.
std::optional<std::string> FixedValues::described(TokenRange operand) {
  std::string description;
  for (std::size_t token = operand.begin; token < operand.end; ++token) {
    const Token& each = module_.token(token);
    if (each.kind != TokenKind::Word) {
      description += each.text;
      continue;
    }
    const auto value = of(each.text);
    if (!value) return std::nullopt;
    description += (value->negated ? "!#" : "#") + std::to_string(value->number) + ' ';
  }
  return description;
}

FixedValues::Value FixedValues::numbered(const std::string& description) {
  return {numbers_.emplace(description, numbers_.size()).first->second};
}

/// The result of a called function is not fixed.
bool FixedValues::is_parameter_load(const Instruction& instruction) const {
  if (instruction.operation() != "ld" || !instruction.has("param") || instruction.operands[1].size() < 3) return false;
  const std::string_view name = module_.token(instruction.operands[1].begin + 1).text;
  return std::ranges::find(function_.parameters, name, &Parameter::name) != function_.parameters.end();
}

}  // namespace gpushare::ptx
