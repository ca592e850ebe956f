// SPDX-License-Identifier: Apache-2.0
// setp and set.
#include <array>
#include <cmath>
#include <tuple>

#include "ptx_interpreter/arithmetic.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

/// Names that end in u hold for NaN as well; lo, ls, hi, hs are the unsigned ones.
enum class Comparison : std::uint8_t {
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  EqualOrNan,
  NotEqualOrNan,
  LessOrNan,
  LessEqualOrNan,
  GreaterOrNan,
  GreaterEqualOrNan,
  Numbers,
  AnyNan,
};

struct Name {
  std::string_view suffix;
  Comparison comparison;
};
constexpr std::array names = {
    Name{"eq", Comparison::Equal},         Name{"ne", Comparison::NotEqual},
    Name{"lt", Comparison::Less},          Name{"le", Comparison::LessEqual},
    Name{"gt", Comparison::Greater},       Name{"ge", Comparison::GreaterEqual},
    Name{"lo", Comparison::Less},          Name{"ls", Comparison::LessEqual},
    Name{"hi", Comparison::Greater},       Name{"hs", Comparison::GreaterEqual},
    Name{"equ", Comparison::EqualOrNan},   Name{"neu", Comparison::NotEqualOrNan},
    Name{"ltu", Comparison::LessOrNan},    Name{"leu", Comparison::LessEqualOrNan},
    Name{"gtu", Comparison::GreaterOrNan}, Name{"geu", Comparison::GreaterEqualOrNan},
    Name{"num", Comparison::Numbers},      Name{"nan", Comparison::AnyNan},
};

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

template <class T>
bool holds(Comparison comparison, T a, T b) {
  const bool nan = is_nan(a) || is_nan(b);
  switch (comparison) {
    case Comparison::Equal:
      return a == b;
    case Comparison::NotEqual:
      return !nan && a != b;
    case Comparison::Less:
      return a < b;
    case Comparison::LessEqual:
      return a <= b;
    case Comparison::Greater:
      return a > b;
    case Comparison::GreaterEqual:
      return a >= b;
    case Comparison::EqualOrNan:
      return nan || a == b;
    case Comparison::NotEqualOrNan:
      return nan || a != b;
    case Comparison::LessOrNan:
      return nan || a < b;
    case Comparison::LessEqualOrNan:
      return nan || a <= b;
    case Comparison::GreaterOrNan:
      return nan || a > b;
    case Comparison::GreaterEqualOrNan:
      return nan || a >= b;
    case Comparison::Numbers:
      return !nan;
    case Comparison::AnyNan:
      return nan;
  }
  return false;
}

bool combined(Combination combination, bool left, bool right) {
  switch (combination) {
    case Combination::And:
      return left && right;
    case Combination::Or:
      return left || right;
    case Combination::Xor:
      return left != right;
    case Combination::None:
      break;
  }
  return left;
}

template <class T>
bool compare(const Thread& thread, const Operation& operation) {
  const T a = flushed(thread.read<T>(operation.slot[2]), operation.flush);
  const T b = flushed(thread.read<T>(operation.slot[3]), operation.flush);
  return holds(static_cast<Comparison>(operation.mode), widened(a), widened(b));
}

template <class T>
std::pair<bool, bool> compare_pairs(const Thread& thread, const Operation& operation) {
  const auto comparison = static_cast<Comparison>(operation.mode);
  const auto a = thread.read<Pair<T>>(operation.slot[2]), b = thread.read<Pair<T>>(operation.slot[3]);
  return {holds(comparison, widened(a.low), widened(b.low)), holds(comparison, widened(a.high), widened(b.high))};
}

/// slots: p, q, a, b, c. q is the negated comparison, combined in the same way.
template <class T>
void set_predicates(Thread& thread, const Operation& operation) {
  const bool result = compare<T>(thread, operation);
  const bool other = operation.combination != Combination::None && thread.read<bool>(operation.slot[4]);
  thread.write<bool>(operation.slot[1], combined(operation.combination, !result, other));
  thread.write<bool>(operation.slot[0], combined(operation.combination, result, other));
}

/// setp.gt.f16x2 p|q: the low halves decide about p, the high ones about q.
template <class T>
void set_predicates_of_pairs(Thread& thread, const Operation& operation) {
  const bool other = operation.combination != Combination::None && thread.read<bool>(operation.slot[4]);
  const auto [low, high] = compare_pairs<T>(thread, operation);
  thread.write<bool>(operation.slot[1], combined(operation.combination, high, other));
  thread.write<bool>(operation.slot[0], combined(operation.combination, low, other));
}

/// The value in slot 5 for each half.
template <class T>
void set_values_of_pairs(Thread& thread, const Operation& operation) {
  const bool other = operation.combination != Combination::None && thread.read<bool>(operation.slot[4]);
  const auto [low, high] = compare_pairs<T>(thread, operation);
  const std::uint64_t value = thread.registers[operation.slot[5]] & 0xffff;
  thread.registers[operation.slot[0]] = (combined(operation.combination, low, other) ? value : 0) |
                                        (combined(operation.combination, high, other) ? value << 16 : 0);
}

/// All ones for an integer destination, 1.0 for a float one: the value is in slot 5.
template <class T>
void set_value(Thread& thread, const Operation& operation) {
  const bool other = operation.combination != Combination::None && thread.read<bool>(operation.slot[4]);
  const bool result = combined(operation.combination, compare<T>(thread, operation), other);
  thread.registers[operation.slot[0]] = result ? thread.registers[operation.slot[5]] : 0;
}

void take_comparison(Encoder& encoder, Scalar type) {
  Operation& operation = encoder.operation();
  const auto suffixes = encoder.suffixes();
  bool found = false;
  for (const Name& each : names) {
    if (suffixes.front() != each.suffix) continue;
    operation.mode = static_cast<std::uint8_t>(each.comparison);
    found = true;
  }
  if (!found) encoder.fail("the interpreter does not know this comparison");
  operation.flush = encoder.has("ftz");
  operation.slot[2] = encoder.source(1, type);
  operation.slot[3] = encoder.source(2, type);
  if (encoder.operands() < 4) return;
  operation.slot[4] = encoder.source(3, Scalar::Pred);
  operation.combination = encoder.has("and")  ? Combination::And
                          : encoder.has("or") ? Combination::Or
                                              : Combination::Xor;
}

void encode_set_predicates(Encoder& encoder) {
  const Scalar type = encoder.type();
  take_comparison(encoder, type);
  std::tie(encoder.operation().slot[0], encoder.operation().slot[1]) = encoder.destinations(0);
  if (type == Scalar::F16x2) return encoder.use(&set_predicates_of_pairs<Half>);
  if (type == Scalar::BF16x2) return encoder.use(&set_predicates_of_pairs<BrainHalf>);
  const auto choose = []<class T>() -> Handler { return &set_predicates<T>; };
  encoder.use(is_float(type) ? with_real(type, choose) : with_integer(type, choose));
}

/// All ones, or 1.0.
std::uint64_t value_of_true(Scalar result) {
  if (result == Scalar::F32) return to_bits(1.0f);
  if (result == Scalar::F16 || result == Scalar::F16x2) return Half(1.0).bits;
  if (result == Scalar::BF16 || result == Scalar::BF16x2) return BrainHalf(1.0).bits;
  return 0xffff'ffff;
}

void encode_set_value(Encoder& encoder) {
  const Scalar result = encoder.type(0), type = encoder.type(1);
  take_comparison(encoder, type);
  encoder.operation().slot[0] = encoder.destination(0);
  encoder.operation().slot[5] = encoder.constant(value_of_true(result));
  if (type == Scalar::F16x2) return encoder.use(&set_values_of_pairs<Half>);
  if (type == Scalar::BF16x2) return encoder.use(&set_values_of_pairs<BrainHalf>);
  const auto choose = []<class T>() -> Handler { return &set_value<T>; };
  encoder.use(is_float(type) ? with_real(type, choose) : with_integer(type, choose));
}

constexpr std::array rules = {
    Rule{"setp", encode_set_predicates},
    Rule{"set", encode_set_value},
};

}  // namespace

std::span<const Rule> comparison_rules() { return rules; }

}  // namespace gpushare::interpreter
