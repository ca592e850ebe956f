// SPDX-License-Identifier: Apache-2.0
// The operands of instructions as slots of a frame.
#include "core/model/errors.hpp"
#include "ptx_interpreter/block.hpp"
#include "ptx_interpreter/encoder.hpp"
#include "ptx_interpreter/literal.hpp"

namespace gpushare::interpreter {
namespace {

void invert(Thread& thread, const Operation& operation) {
  thread.write<bool>(operation.slot[0], !thread.read<bool>(operation.slot[1]));
}

void read_clock(Thread& thread, const Operation& operation) {
  thread.registers[operation.slot[0]] =
      thread.frames.back().function->frame_values[operation.target].special.read(thread);
}

}  // namespace

std::string_view Encoder::text(ptx::TokenRange range, std::size_t index) const {
  return index < range.size() ? names_.module.token(range.begin + index).text : std::string_view();
}

std::string_view Encoder::word(std::size_t operand) const {
  if (operand >= operands()) fail("an operand is missing");
  return text(instruction_->operands[operand], 0);
}

std::vector<std::string_view> Encoder::suffixes() const {
  std::vector<std::string_view> parts;
  std::string_view rest = instruction_->opcode;
  for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    rest = rest.substr(dot + 1);
    parts.push_back(rest.substr(0, rest.find('.')));
  }
  return parts;
}

Scalar Encoder::type(std::size_t index) const {
  for (const std::string_view each : suffixes()) {
    const auto type = scalar_named(each);
    if (type && index-- == 0) return *type;
  }
  fail("a type is missing");
}

Slot Encoder::source(std::size_t operand, Scalar type) {
  if (operand >= operands()) fail("an operand is missing");
  return source_of(instruction_->operands[operand], type);
}

Slot Encoder::destination(std::size_t operand) { return destinations(operand).first; }

std::pair<Slot, Slot> Encoder::destinations(std::size_t operand) {
  if (operand >= operands()) fail("an operand is missing");
  const ptx::TokenRange range = instruction_->operands[operand];
  if (text(range, 1) != "|") return {destination_of(range), scratch()};
  return {destination_of({range.begin, range.begin + 1}), destination_of({range.begin + 2, range.end})};
}

Slot Encoder::destination_of(ptx::TokenRange tokens) {
  const std::string_view name = text(tokens, 0);
  if (name == "_") return scratch();
  const Symbol* symbol = symbols_.find(name);
  if (symbol == nullptr || symbol->kind != Symbol::Kind::Register || tokens.size() != 1) {
    fail("'" + std::string(names_.module.source(tokens)) + "' is no register");
  }
  return symbol->slot;
}

Slot Encoder::source_of(ptx::TokenRange tokens, Scalar type) {
  const std::string_view first = text(tokens, 0);
  if (first == "!") return inverted(source_of({tokens.begin + 1, tokens.end}, type));
  if (first == "_") return scratch();
  const bool negative = first == "-";
  const std::string_view number = text(tokens, negative ? 1 : 0);
  if (!number.empty() && number.front() >= '0' && number.front() <= '9') {
    const auto bits = literal_bits(number, negative, type);
    if (!bits) fail("'" + std::string(number) + "' is no number");
    return constant(*bits);
  }
  return value_slot(first, tokens.size() > 1 ? integer({tokens.begin + 1, tokens.end}) : 0);
}

/// The sum in +4, -4, +-4.
std::int64_t Encoder::integer(ptx::TokenRange tokens) const {
  bool negative = false;
  std::size_t index = 0;
  for (; text(tokens, index) == "+" || text(tokens, index) == "-"; ++index) negative ^= text(tokens, index) == "-";
  const auto value = integer_literal(text(tokens, index));
  if (!value || index + 1 != tokens.size()) {
    fail("'" + std::string(names_.module.source(tokens)) + "' is no offset");
  }
  return static_cast<std::int64_t>(negative ? 0 - *value : *value);
}

Slot Encoder::value_slot(std::string_view name, std::int64_t plus) {
  if (name == "WARP_SZ") return constant(warp_size);
  if (const Symbol* symbol = symbols_.find(name)) return symbol_slot(*symbol, plus);
  if (name.starts_with('%')) return special_slot(name);
  fail("'" + std::string(name) + "' is not declared");
}

Slot Encoder::symbol_slot(const Symbol& symbol, std::int64_t plus) {
  const std::uint64_t place = symbol.place + static_cast<std::uint64_t>(plus);
  switch (symbol.kind) {
    case Symbol::Kind::Register:
      return symbol.slot;
    case Symbol::Kind::EntryParameter:
      return constant(place);
    case Symbol::Kind::Function:
      return constant(first_function_address + symbol.place * function_address_step);
    case Symbol::Kind::Shared:
      return constant(place);
    case Symbol::Kind::Local:
      return frame_slot({.kind = FrameValue::Kind::Local, .index = place});
    case Symbol::Kind::DynamicShared:
      return frame_slot({.kind = FrameValue::Kind::DynamicShared, .index = static_cast<std::size_t>(plus)});
    case Symbol::Kind::Variable:
      return frame_slot({.kind = FrameValue::Kind::Variable, .index = symbol.place, .plus = plus});
  }
  return no_slot;
}

Slot Encoder::frame_slot(FrameValue value) {
  const std::tuple key(static_cast<int>(value.kind), std::uint64_t{value.index}, value.plus);
  const auto [found, is_new] = frame_slots_.try_emplace(key, no_slot);
  if (is_new) {
    found->second = value.slot = new_slot(0);
    code_.frame_values.push_back(value);
  }
  return found->second;
}

Slot Encoder::special_slot(std::string_view name) {
  const auto special = special_register(name);
  if (!special) fail("'" + std::string(name) + "' is neither declared nor a special register known here");
  const auto [found, is_new] = special_slots_.try_emplace(std::string(name), no_slot);
  if (is_new) {
    found->second = new_slot(0);
    code_.frame_values.push_back({.kind = FrameValue::Kind::Special, .slot = found->second, .special = *special});
  }
  if (special->changes) {
    std::uint32_t index = 0;
    while (code_.frame_values[index].slot != found->second) ++index;
    emit_before({.handler = read_clock, .slot = {found->second}, .target = index, .line = operation_.line});
  }
  return found->second;
}

Slot Encoder::inverted(Slot predicate) {
  const Slot result = new_slot(0);
  emit_before({.handler = invert, .slot = {result, predicate}, .line = operation_.line});
  return result;
}

Slot Encoder::constant(std::uint64_t bits) {
  const auto [found, is_new] = constants_.try_emplace(bits, no_slot);
  if (is_new) found->second = new_slot(bits);
  return found->second;
}

Slot Encoder::scratch() {
  if (scratch_ == no_slot) scratch_ = new_slot(0);
  return scratch_;
}

std::vector<ptx::TokenRange> Encoder::elements(ptx::TokenRange tokens) const {
  const std::string_view first = text(tokens, 0);
  if (first != "{" && first != "(") return {tokens};
  std::vector<ptx::TokenRange> found;
  std::size_t begin = tokens.begin + 1;
  for (std::size_t i = begin; i < tokens.end; ++i) {
    const ptx::Token& token = names_.module.token(i);
    if (!token.is(",") && i + 1 != tokens.end) continue;
    if (i > begin) found.push_back({begin, i});
    begin = i + 1;
  }
  return found;
}

std::vector<Slot> Encoder::sources(std::size_t operand, Scalar type) {
  if (operand >= operands()) fail("an operand is missing");
  std::vector<Slot> slots;
  for (const ptx::TokenRange each : elements(instruction_->operands[operand])) slots.push_back(source_of(each, type));
  return slots;
}

std::vector<Slot> Encoder::vector_destinations(std::size_t operand) {
  if (operand >= operands()) fail("an operand is missing");
  std::vector<Slot> slots;
  for (const ptx::TokenRange each : elements(instruction_->operands[operand])) slots.push_back(destination_of(each));
  return slots;
}

std::vector<std::string_view> Encoder::list(std::size_t operand) const {
  std::vector<std::string_view> names;
  for (const ptx::TokenRange each : elements(instruction_->operands[operand])) names.push_back(text(each, 0));
  return names;
}

void Encoder::address(std::size_t operand) {
  if (operand >= operands()) fail("an operand is missing");
  ptx::TokenRange range = instruction_->operands[operand];
  if (text(range, 0) != "[") fail("expected an address in [ ]");
  range = {range.begin + 1, range.end - 1};
  const std::string_view base = text(range, 0);
  const bool is_number = base == "-" || (!base.empty() && base.front() >= '0' && base.front() <= '9');
  operation_.offset = is_number ? integer(range) : range.size() > 1 ? integer({range.begin + 1, range.end}) : 0;
  operation_.address = is_number ? constant(0) : value_slot(base, 0);
  const Symbol* symbol = symbols_.find(base);
  if (symbol == nullptr) return;
  operation_.narrow = symbol->kind == Symbol::Kind::Register && symbol->bytes == 4;
  // A parameter of a .func, or one handed over in a call, lies in the frame.
  if (symbol->kind == Symbol::Kind::Local) operation_.space = Space::Local;
  if (symbol->kind == Symbol::Kind::EntryParameter) operation_.space = Space::Parameter;
}

}  // namespace gpushare::interpreter
