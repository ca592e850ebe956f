// SPDX-License-Identifier: Apache-2.0
// and, or, xor, not, shifts, bit fields, counts, permutations of bytes.
#include <algorithm>
#include <array>
#include <bit>

#include "ptx_interpreter/arithmetic.hpp"
#include "ptx_interpreter/rules.hpp"

namespace gpushare::interpreter {
namespace {

template <class T>
constexpr std::uint32_t width = 8 * sizeof(T);

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
  if (encoder.has("shiftamt")) encoder.fail("the interpreter does not know this variant");
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

/// bfe d, a, position, length: the field, with its sign for signed types.
template <class T>
void extract_field(Thread& thread, const Operation& operation) {
  const T value = thread.read<T>(operation.slot[1]);
  const std::uint32_t position = thread.read<std::uint8_t>(operation.slot[2]);
  const std::uint32_t length = thread.read<std::uint8_t>(operation.slot[3]);
  const auto bits = static_cast<std::make_unsigned_t<T>>(value);
  const std::uint32_t last = width<T> - 1;
  bool sign = false;
  if (std::is_signed_v<T> && length != 0) sign = (bits >> std::min(position + length - 1, last) & 1) != 0;
  T result = sign ? static_cast<T>(-1) : T{0};
  for (std::uint32_t i = 0; i < length && position + i <= last && i <= last; ++i) {
    const T bit = static_cast<T>(T{1} << i);
    result = static_cast<T>((bits >> (position + i) & 1) != 0 ? result | bit : result & ~bit);
  }
  thread.write<T>(operation.slot[0], result);
}

/// bfi d, a, b, position, length: b with the field replaced by the low bits of a.
template <class T>
void insert_field(Thread& thread, const Operation& operation) {
  const T field = thread.read<T>(operation.slot[1]);
  T result = thread.read<T>(operation.slot[2]);
  const std::uint32_t position = thread.read<std::uint8_t>(operation.slot[3]);
  const std::uint32_t length = thread.read<std::uint8_t>(operation.slot[4]);
  for (std::uint32_t i = 0; i < length && position + i < width<T>; ++i) {
    const T bit = static_cast<T>(T{1} << (position + i));
    result = static_cast<T>((field >> i & 1) != 0 ? result | bit : result & ~bit);
  }
  thread.write<T>(operation.slot[0], result);
}

void encode_extraction(Encoder& encoder) {
  const Scalar type = encoder.type();
  encoder.operation().slot = {encoder.destination(0), encoder.source(1, type), encoder.source(2, Scalar::U32),
                              encoder.source(3, Scalar::U32)};
  encoder.use(with_integer(type, []<class T>() -> Handler { return &extract_field<T>; }));
}

void encode_insertion(Encoder& encoder) {
  const Scalar type = encoder.type();
  encoder.operation().slot = {encoder.destination(0), encoder.source(1, type), encoder.source(2, type),
                              encoder.source(3, Scalar::U32), encoder.source(4, Scalar::U32)};
  encoder.use(bytes_of(type) == 8 ? &insert_field<std::uint64_t> : &insert_field<std::uint32_t>);
}

/// One byte for each digit of the selector; its fourth bit asks for the byte's sign instead.
void permute_bytes(Thread& thread, const Operation& operation) {
  const std::uint64_t bytes = thread.read<std::uint32_t>(operation.slot[1]) |
                              static_cast<std::uint64_t>(thread.read<std::uint32_t>(operation.slot[2])) << 32;
  const auto selector = thread.read<std::uint32_t>(operation.slot[3]);
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t digit = selector >> (4 * i) & 0xf;
    auto byte = static_cast<std::uint32_t>(bytes >> (8 * (digit & 7)) & 0xff);
    if ((digit & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  thread.write<std::uint32_t>(operation.slot[0], result);
}

void encode_permutation(Encoder& encoder) {
  if (encoder.suffixes().size() != 1) encoder.fail("the interpreter knows prmt without a mode only");
  take_operands(encoder, 3, Scalar::B32);
  encoder.use(&permute_bytes);
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

/// Four products of bytes, added to c.
template <class A, class B>
void dot_product(Thread& thread, const Operation& operation) {
  const auto a = thread.read<std::uint32_t>(operation.slot[1]), b = thread.read<std::uint32_t>(operation.slot[2]);
  auto sum = thread.read<std::uint32_t>(operation.slot[3]);
  for (int shift = 0; shift < 32; shift += 8) {
    sum += static_cast<std::uint32_t>(static_cast<A>(a >> shift) * static_cast<B>(b >> shift));
  }
  thread.write<std::uint32_t>(operation.slot[0], sum);
}

void encode_dot_product(Encoder& encoder) {
  take_operands(encoder, 3, Scalar::B32);
  const bool a = encoder.type(0) == Scalar::S32, b = encoder.type(1) == Scalar::S32;
  if (a) return encoder.use(b ? &dot_product<std::int8_t, std::int8_t> : &dot_product<std::int8_t, std::uint8_t>);
  encoder.use(b ? &dot_product<std::uint8_t, std::int8_t> : &dot_product<std::uint8_t, std::uint8_t>);
}

constexpr std::array rules = {
    Rule{"and", encode_bits<And, 2>},
    Rule{"or", encode_bits<Or, 2>},
    Rule{"xor", encode_bits<Xor, 2>},
    Rule{"not", encode_bits<Not, 1>},
    Rule{"cnot", encode_count<LogicalNot>},
    Rule{"shl", encode_shift<true>},
    Rule{"shr", encode_shift<false>},
    Rule{"popc", encode_count<CountOnes>},
    Rule{"clz", encode_count<LeadingZeros>},
    Rule{"brev", encode_count<Reverse>},
    Rule{"bfind", encode_highest_bit},
    Rule{"bfe", encode_extraction},
    Rule{"bfi", encode_insertion},
    Rule{"prmt", encode_permutation},
    Rule{"shf", encode_funnel},
    Rule{"lop3", encode_combination},
    Rule{"dp4a", encode_dot_product},
};

}  // namespace

std::span<const Rule> bit_rules() { return rules; }

}  // namespace gpushare::interpreter
