// SPDX-License-Identifier: Apache-2.0
#include "core/transform/flow/lane_values.hpp"

#include <algorithm>
#include <limits>

#include "core/transform/flow/data_flow.hpp"
#include "core/transform/ptx/instructions.hpp"

namespace gpushare::ptx {
namespace {

constexpr int longest_derivation = 200;
constexpr std::int64_t lanes = 32;

/// The type is the last suffix; in a conversion the last but one is a type too. Are both integers?
bool is_of_integers(const Instruction& instruction) {
  std::string_view opcode = instruction.opcode;
  const auto take_integer = [&] {
    const std::size_t dot = opcode.rfind('.');
    if (dot == std::string_view::npos) return false;
    const std::string_view type = opcode.substr(dot + 1);
    opcode = opcode.substr(0, dot);
    return type.starts_with('u') || type.starts_with('s') || (type.starts_with('b') && !type.starts_with("bf"));
  };
  return take_integer() && (instruction.operation() != "cvt" || take_integer());
}

}  // namespace

LaneValues::LaneValues(const Module& module, const Function& function, const SingleWriterAnalysis& writers,
                       const ThreadGroup& group)
    : module_(module), function_(function), group_(group), writers_(writers) {}

bool LaneValues::is_same_in_warp(std::size_t statement) {
  const StatementPlace here = place(statement);
  if (here.instruction.operation() == "setp") return compares_whole_warps(here);
  return assigned(here).is_uniform() || gives_all_lanes_one_value(here);
}

/// A vote of the whole warp, or what one lane has, for all of them.
bool LaneValues::gives_all_lanes_one_value(const StatementPlace& place) {
  const auto& operands = place.instruction.operands;
  const std::string_view operation = place.instruction.operation();
  const bool shuffles = operation == "shfl";
  if (operands.size() < (shuffles ? 5u : 3u) || !(shuffles || is_any_of(operation, {"vote", "redux"}))) return false;
  const auto mask = of(place, operands.size() - 1).number;
  if (!mask || (static_cast<std::uint32_t>(*mask) & group_.lanes) != group_.lanes) return false;
  if (!shuffles) return true;
  return place.instruction.has("idx") && of(place, 2).is_uniform() && of(place, 3).number == lanes - 1;
}

bool LaneValues::is_alike_by_lane(std::int64_t lane) const {
  const std::uint32_t one = std::uint32_t{1} << lane;
  return (group_.lanes & one) == 0 || group_.lanes == one;
}

bool LaneValues::is_alike_before(std::int64_t lane) const {
  const std::uint32_t before = group_.lanes & ((std::uint32_t{1} << lane) - 1);
  return before == 0 || before == group_.lanes;
}

/// Compared with a number, consecutive values give one result up to some lane and the other from there on. Here a
/// multiple of 32 stands for all multiples. Comparisons that are combined with a second predicate are not examined.
bool LaneValues::compares_whole_warps(const StatementPlace& place) {
  const Instruction& instruction = place.instruction;
  if (instruction.operands.size() != 3 || !is_of_integers(instruction)) return false;
  const auto has_any = [&](std::initializer_list<std::string_view> comparisons) {
    return std::ranges::any_of(comparisons, [&](std::string_view each) { return instruction.has(each); });
  };
  const bool parts_before = has_any({"lt", "ge", "lo", "hs"});  // before the right one, if that is the bound
  const bool parts_behind = has_any({"gt", "le", "hi", "ls"});
  const bool parts_one = has_any({"eq", "ne"});
  // An unsigned index less than nothing is a large one: a warp's first lanes may be.
  const std::string_view type = instruction.opcode.substr(instruction.opcode.rfind('.') + 1);
  const bool is_unsigned = !type.starts_with('s') || has_any({"lo", "hs", "hi", "ls"});
  const auto parts_warps = [&](const Value& value, const Value& bound, bool before, bool behind) {
    if (is_unsigned && value.may_be_negative && value.offset % lanes != 0) before = behind = false;
    if (!bound.number) return before && value.offset % lanes == 0 && bound.is_multiple();
    const std::int64_t lane = (*bound.number % lanes - value.offset) & (lanes - 1);
    return (before && is_alike_before(lane)) || (behind && is_alike_before((lane + 1) % lanes)) ||
           (parts_one && is_alike_by_lane(lane));
  };
  const Value left = of(place, 1);
  const Value right = of(place, 2);
  if (left.kind == Kind::Consecutive) return parts_warps(left, right, parts_before, parts_behind);
  if (right.kind == Kind::Consecutive) return parts_warps(right, left, parts_behind, parts_before);
  return false;
}

LaneValues::Value LaneValues::of_number(std::int64_t number) {
  return {number % lanes == 0 ? Kind::Multiple : Kind::Uniform, number};
}

LaneValues::StatementPlace LaneValues::place(std::size_t statement) const {
  return {statement, std::get<Instruction>(function_.statements[statement])};
}

LaneValues::Value LaneValues::of(const StatementPlace& place, std::size_t operand) {
  const TokenRange tokens = place.instruction.operands[operand];
  if (const auto number = parsed_number(module_, tokens)) return of_number(*number);
  const Token& only = module_.token(tokens.begin);
  return tokens.size() == 1 && only.kind == TokenKind::Word ? of(only.text, place.statement) : Value{};
}

LaneValues::Value LaneValues::of(std::string_view word, std::size_t reader) {
  if (!writers_.is_written(without_component(word))) return of_special_register(word);
  const auto writer = writers_.of(word, reader);
  if (!writer) return {};
  if (const auto known = known_.find(*writer); known != known_.end()) return known->second;
  known_[*writer] = {};  // for what depends on itself
  ++depth_;
  const Value found = depth_ < longest_derivation ? assigned(place(*writer)) : Value{};
  --depth_;
  return known_[*writer] = found;
}

LaneValues::Value LaneValues::of_special_register(std::string_view word) const {
  if (word == "WARP_SZ") return of_number(lanes);
  using Shapes = BlockShapes::Kind;
  const BlockShapes& blocks = group_.blocks;
  const bool is_fixed = blocks.kind == Shapes::OneWidth;
  const bool are_lines =
      blocks.kind == Shapes::Lines || blocks.kind == Shapes::WholeWarps || (is_fixed && blocks.width % lanes == 0);
  if (word == "%laneid") return {Kind::Consecutive};
  if (blocks.kind == Shapes::Any && word.starts_with("%tid")) return {};
  if (word == "%tid.x") return {are_lines ? Kind::Consecutive : Kind::Column};
  if (word == "%tid.y") return {are_lines ? Kind::Uniform : Kind::Row};
  if (word == "%tid.z") return {are_lines ? Kind::Uniform : Kind::Layer};
  if (word == "%ntid.x" && is_fixed) return of_number(blocks.width);
  if (word == "%ntid.x") return {blocks.kind == Shapes::WholeWarps ? Kind::Multiple : Kind::Width};
  const bool is_of_block = word.starts_with("%ntid.") || word.starts_with("%ctaid.") || word.starts_with("%nctaid.");
  const bool is_parameter = function_.is_entry && std::ranges::find(function_.parameters, word, &Parameter::name) !=
                                                      function_.parameters.end();
  return {is_of_block || is_parameter || word == "%warpid" ? Kind::Uniform : Kind::Unknown};
}

LaneValues::Value LaneValues::assigned(const StatementPlace& place) {
  const Instruction& instruction = place.instruction;
  if (instruction.operands.size() < 2 || instruction.operands[0].size() != 1) return {};
  if (is_parameter_load(place)) return {Kind::Uniform};
  if (is_any_of(instruction.operation(), {"mov", "cvt"}) && is_of_integers(instruction)) return of(place, 1);
  return computed(place);
}

LaneValues::Value LaneValues::computed(const StatementPlace& place) {
  const Instruction& instruction = place.instruction;
  if (instruction.operands.size() < 3 || !is_of_integers(instruction) || instruction.has("hi")) return {};
  const std::string_view operation = instruction.operation();
  const Value left = of(place, 1);
  const Value right = of(place, 2);
  if (operation == "add") return sum(left, right);
  if (is_any_of(operation, {"or", "xor"})) return combined(left, right);
  if (operation == "sub" && right.is_uniform()) {
    const auto number = right.number ? std::optional(-(*right.number % (lanes * lanes))) : std::nullopt;
    Value difference = sum(left, Value{.kind = right.kind, .number = number});
    difference.may_be_negative = true;
    return difference;
  }
  if (operation == "mul") return {product(left, right)};
  if (operation == "mad" && instruction.operands.size() == 4) return sum({product(left, right)}, of(place, 3));
  if (operation == "shl" && left.kind == Kind::Row && right.number && *right.number >= 0 && *right.number < 31) {
    return {product(left, of_number(std::int64_t{1} << *right.number))};
  }
  if (operation == "shl") return {shifted_left(left, right)};
  if (is_any_of(operation, {"shr", "bfe"})) return {shifted_right(instruction, left, right)};
  if (operation == "and") return {masked(left, right)};
  if (operation == "bfi" && instruction.operands.size() == 5) return inserted(left, right, of(place, 3));
  if (operation == "div" && left.is_consecutive_from_lane_0() && right.is_multiple() && !left.may_be_negative) {
    return {Kind::Uniform};
  }
  return {};
}

/// Bits that one side does not have are added; the other side has none below 32.
LaneValues::Value LaneValues::combined(const Value& left, const Value& right) {
  const Value& other = left.is_multiple() ? right : left;
  if (!left.is_multiple() && !right.is_multiple()) return {};
  return other.is_uniform() || other.is_consecutive_from_lane_0() ? sum(left, right) : Value{};
}

LaneValues::Value LaneValues::sum(const Value& left, const Value& right) {
  Value found = sum_of_kinds(left, right);
  const auto lowers = [](const Value& value) {
    const std::int64_t number = value.number.value_or(0);
    return value.may_be_negative || number < 0 || number > std::numeric_limits<std::int32_t>::max();
  };
  found.may_be_negative = lowers(left) || lowers(right);
  return found;
}

LaneValues::Value LaneValues::sum_of_kinds(const Value& left, const Value& right) {
  if (left.kind == Kind::Layer && right.kind == Kind::Layer) return {Kind::Layer};
  if (left.is_uniform() && right.is_uniform()) {
    return {left.is_multiple() && right.is_multiple() ? Kind::Multiple : Kind::Uniform};
  }
  if (left.is_uniform()) return sum_of_kinds(right, left);
  switch (left.kind) {
    case Kind::Consecutive:
      if (right.number) return {Kind::Consecutive, {}, (left.offset + *right.number % lanes) % lanes};
      return right.is_multiple() ? left : Value{};
    case Kind::Column:
      if (right.kind == Kind::RowStart) return {Kind::Consecutive};
      return {right.is_multiple() ? Kind::Column : Kind::Unknown};
    case Kind::RowStart:
      if (right.kind == Kind::Column) return {Kind::Consecutive};
      return {right.is_multiple() ? Kind::RowStart : Kind::Unknown};
    case Kind::Row:
      return {right.kind == Kind::Layer || right.is_multiple() ? Kind::Row : Kind::Unknown};
    default:
      return {};
  }
}

bool LaneValues::is_width(const Value& value) const {
  const bool is_fixed = group_.blocks.kind == BlockShapes::Kind::OneWidth;
  return value.kind == Kind::Width || (is_fixed && value.number == group_.blocks.width);
}

LaneValues::Kind LaneValues::product(const Value& left, const Value& right) const {
  const bool by_width = is_width(left) || is_width(right);
  if (left.kind == Kind::Layer || right.kind == Kind::Layer) {
    if (!left.is_uniform() || !right.is_uniform()) return Kind::Unknown;
    return by_width ? Kind::Multiple : Kind::Layer;
  }
  if (left.is_uniform() && right.is_uniform()) {
    return left.is_multiple() || right.is_multiple() ? Kind::Multiple : Kind::Uniform;
  }
  const bool has_row = left.kind == Kind::Row || right.kind == Kind::Row;
  return has_row && by_width ? Kind::RowStart : Kind::Unknown;
}

LaneValues::Kind LaneValues::shifted_left(const Value& value, const Value& by) {
  if (!value.is_uniform() || !by.is_uniform()) return Kind::Unknown;
  return value.is_multiple() || (by.number && *by.number >= 5) ? Kind::Multiple : Kind::Uniform;
}

/// After a shift by five places or more lanes do not differ. A signed division by 32 first adds 31 to negative values:
/// the shifted sign. The operand after it gives a field's beginning in the same way as it gives the shift.
LaneValues::Kind LaneValues::shifted_right(const Instruction& instruction, const Value& value, const Value& by) {
  if (value.kind == Kind::Zero) return Kind::Zero;
  if (value.is_uniform()) return by.is_uniform() ? Kind::Uniform : Kind::Unknown;
  if (!value.is_consecutive_from_lane_0() || !by.number || *by.number < 5) return Kind::Unknown;
  const bool is_sign = (instruction.has("s32") && *by.number == 31) || (instruction.has("s64") && *by.number == 63);
  if (is_sign && instruction.operation() == "shr") return value.may_be_negative ? Kind::Unknown : Kind::Zero;
  return Kind::Uniform;
}

LaneValues::Kind LaneValues::masked(const Value& value, const Value& mask) {
  if (!mask.number) return mask.kind != Kind::Unknown && value.number ? masked(mask, value) : Kind::Unknown;
  const std::int64_t low = *mask.number & (lanes - 1);
  if (value.is_uniform()) return low == 0 ? Kind::Multiple : Kind::Uniform;
  if (!value.is_consecutive_from_lane_0()) return Kind::Unknown;
  return low == 0 ? Kind::Multiple : low == lanes - 1 ? Kind::Consecutive : Kind::Unknown;
}

/// Inserts bits of one value into another from a place on; the lower bits are the other's.
LaneValues::Value LaneValues::inserted(const Value& field, const Value& base, const Value& at) {
  if (!field.is_uniform() || !at.number || *at.number < 5) return {};
  if (base.is_uniform()) return {base.is_multiple() ? Kind::Multiple : Kind::Uniform};
  return {base.is_consecutive_from_lane_0() ? Kind::Consecutive : Kind::Unknown};
}

/// True for parameters of the kernel at an address that is the same in all threads: those of a called function may
/// differ.
bool LaneValues::is_parameter_load(const StatementPlace& place) {
  const Instruction& load = place.instruction;
  if (!function_.is_entry || load.operation() != "ld" || !load.has("param") || load.operands[1].size() < 3)
    return false;
  const Token& address = module_.token(load.operands[1].begin + 1);
  const bool is_name =
      std::ranges::find(function_.parameters, address.text, &Parameter::name) != function_.parameters.end();
  return is_name || of(address.text, place.statement).is_uniform();
}

}  // namespace gpushare::ptx
