// SPDX-License-Identifier: Apache-2.0
// and, or, xor, not, shifts, counts, functions of three bits.
#include <algorithm>
#include <array>
#include <bit>

#include "ptx_interpreter/arithmetic.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

struct And {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  static T apply(T a) {
    if constexpr (std::is_same_v<T, bool>)
      return !a;
    else
      return static_cast<T>(~a);
  }
};
struct LogicalNot {
  template <class T>
  static T apply(T a) {
    return a == 0;
  }
};
struct CountOnes {
  template <class T>
  static std::uint32_t apply(T a) {
    return static_cast<std::uint32_t>(std::popcount(std::make_unsigned_t<T>(a)));
  }
};
struct LeadingZeros {
  template <class T>
  static std::uint32_t apply(T a) {
    return static_cast<std::uint32_t>(std::countl_zero(std::make_unsigned_t<T>(a)));
  }
};
struct Reverse {
  template <class T>
  static T apply(T a) {
    T result = 0;
    for (std::uint32_t i = 0; i < width<T>; ++i) result = static_cast<T>(result | ((a >> i & 1) << (width<T> - 1 - i)));
    return result;
  }
};
/// The highest bit that differs from the sign; all ones if none does.
struct HighestBit {
  template <class T>
  static std::uint32_t apply(T a) {
    const auto bits = static_cast<std::make_unsigned_t<T>>(a < 0 ? ~a : a);
    return bits == 0 ? ~0u : width<T> - 1 - static_cast<std::uint32_t>(std::countl_zero(bits));
  }
};
/// By how much to shift left to bring that bit to the top.
struct ShiftToHighestBit {
  template <class T>
  static std::uint32_t apply(T a) {
    const std::uint32_t highest = HighestBit::apply(a);
    return highest == ~0u ? highest : width<T> - 1 - highest;
  }
};

template <class Function, std::size_t Operands>
void encode_bits(Encoder& encoder) {
  const Scalar type = encoder.type();
  take_operands(encoder, Operands, type);
  if (type == Scalar::Pred) return encoder.use(&integer_operation<Function, bool, Operands>);
  encoder.use(integer_handler<Function, Operands>(type));
}

template <class Function>
void encode_count(Encoder& encoder) {
  take_operands(encoder, 1, encoder.type());
  encoder.use(integer_handler<Function, 1>(encoder.type()));
}

void encode_highest_bit(Encoder& encoder) {
  if (encoder.has("shiftamt")) return encode_count<ShiftToHighestBit>(encoder);
  encode_count<HighestBit>(encoder);
}

/// Amounts beyond the width give 0, or the sign.
template <class T>
void shift_left(Thread& thread, const Operation& operation) {
  const auto amount = thread.read<std::uint32_t>(operation.slot[2]);
  const auto value = static_cast<std::uint64_t>(thread.read<T>(operation.slot[1]));
  thread.write<T>(operation.slot[0], amount >= width<T> ? T{0} : static_cast<T>(value << amount));
}

template <class T>
void shift_right(Thread& thread, const Operation& operation) {
  const auto amount = thread.read<std::uint32_t>(operation.slot[2]);
  const T value = thread.read<T>(operation.slot[1]);
  const T beyond = std::is_signed_v<T> && value < 0 ? static_cast<T>(-1) : T{0};
  thread.write<T>(operation.slot[0], amount >= width<T> ? beyond : static_cast<T>(value >> amount));
}

template <bool Left>
void encode_shift(Encoder& encoder) {
  const Scalar type = encoder.type();
  encoder.operation().slot = {encoder.destination(0), encoder.source(1, type), encoder.source(2, Scalar::U32)};
  encoder.use(with_integer(type, []<class T>() -> Handler { return Left ? &shift_left<T> : &shift_right<T>; }));
}

/// shf.l: the high word of b:a shifted left; shf.r: the low word shifted right. `mode` 1 wraps the amount.
template <bool Left>
void shift_funnel(Thread& thread, const Operation& operation) {
  const std::uint64_t both = thread.read<std::uint32_t>(operation.slot[1]) |
                             static_cast<std::uint64_t>(thread.read<std::uint32_t>(operation.slot[2])) << 32;
  auto amount = thread.read<std::uint32_t>(operation.slot[3]);
  amount = operation.mode == 1 ? amount & 31 : std::min(amount, 32u);
  thread.write<std::uint32_t>(operation.slot[0],
                              static_cast<std::uint32_t>(Left ? both << amount >> 32 : both >> amount));
}

void encode_funnel(Encoder& encoder) {
  take_operands(encoder, 3, Scalar::B32);
  encoder.operation().mode = encoder.has("wrap") ? 1 : 0;
  encoder.use(encoder.has("l") ? &shift_funnel<true> : &shift_funnel<false>);
}

/// Any function of three bits, as a table of eight.
void combine_three(Thread& thread, const Operation& operation) {
  const auto a = thread.read<std::uint32_t>(operation.slot[1]), b = thread.read<std::uint32_t>(operation.slot[2]),
             c = thread.read<std::uint32_t>(operation.slot[3]);
  const auto table = thread.read<std::uint32_t>(operation.slot[4]);
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 8; ++i) {
    if ((table >> i & 1) != 0) result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  }
  thread.write<std::uint32_t>(operation.slot[0], result);
}

void encode_combination(Encoder& encoder) {
  if (encoder.suffixes().size() != 1) encoder.fail("the interpreter knows plain lop3.b32 only");
  take_operands(encoder, 4, Scalar::B32);
  encoder.use(&combine_three);
}

constexpr std::array rules = {
    Rule{"and", encode_bits<And, 2>},        Rule{"or", encode_bits<Or, 2>},
    Rule{"xor", encode_bits<Xor, 2>},        Rule{"not", encode_bits<Not, 1>},
    Rule{"cnot", encode_count<LogicalNot>},  Rule{"shl", encode_shift<true>},
    Rule{"shr", encode_shift<false>},        Rule{"popc", encode_count<CountOnes>},
    Rule{"clz", encode_count<LeadingZeros>}, Rule{"brev", encode_count<Reverse>},
    Rule{"bfind", encode_highest_bit},       Rule{"shf", encode_funnel},
    Rule{"lop3", encode_combination},
};

}  // namespace

std::span<const Rule> bit_rules() { return rules; }

}  // namespace gpushare::interpreter
