// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/wide_arithmetic.hpp"

#include <array>

#include "ptx_interpreter/arithmetic.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

__extension__ typedef __int128 Signed128;
__extension__ typedef unsigned __int128 Unsigned128;

template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, Signed128, Unsigned128>;

template <class T>
T high(T a, T b) {
  return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
}

struct HighProduct {
  template <class T>
  static T apply(T a, T b) {
    return high(a, b);
  }
  template <class T>
  static T apply(T a, T b, T c) {
    return static_cast<T>(static_cast<std::uint64_t>(high(a, b)) + static_cast<std::uint64_t>(c));
  }
};

/// Operands are at most 32 bits wide; the sum has the width of the result.
template <class T, std::size_t Operands>
void wide_product(Thread& thread, const Operation& operation) {
  const auto product = static_cast<std::uint64_t>(static_cast<Wide<T>>(thread.read<T>(operation.slot[1])) *
                                                  static_cast<Wide<T>>(thread.read<T>(operation.slot[2])));
  thread.registers[operation.slot[0]] = product + (Operands == 3 ? thread.read<std::uint64_t>(operation.slot[3]) : 0);
}

enum class CarryKind : std::uint8_t { Sum, Difference, LowProduct, HighProduct };
constexpr std::uint8_t takes_carry = 4;   ///< bit in Operation::mode
constexpr std::uint8_t leaves_carry = 8;  ///< .cc

/// left + right + carry, or left + ~right + 1 - borrow; the flag holds the carry, or the borrow after a difference.
template <class T>
void add_with_carry(Thread& thread, const Operation& operation) {
  using Bits = std::make_unsigned_t<T>;
  const auto kind = static_cast<CarryKind>(operation.mode & 3);
  const Bits first = thread.read<Bits>(operation.slot[1]), second = thread.read<Bits>(operation.slot[2]);
  const Unsigned128 carry = (operation.mode & takes_carry) != 0 && thread.carry ? 1 : 0;
  Unsigned128 result = 0;
  switch (kind) {
    case CarryKind::Sum:
      result = Unsigned128{first} + second + carry;
      break;
    case CarryKind::Difference:
      result = Unsigned128{first} - second - carry;
      break;
    case CarryKind::LowProduct:
      result =
          Unsigned128{static_cast<Bits>(Unsigned128{first} * second)} + thread.read<Bits>(operation.slot[3]) + carry;
      break;
    case CarryKind::HighProduct:
      result = Unsigned128{static_cast<Bits>(high(static_cast<T>(first), static_cast<T>(second)))} +
               thread.read<Bits>(operation.slot[3]) + carry;
      break;
  }
  if ((operation.mode & leaves_carry) != 0) thread.carry = (result >> (8 * sizeof(T)) & 1) != 0;
  thread.write<Bits>(operation.slot[0], static_cast<Bits>(result));
}

template <class T>
Handler wide_handler(std::size_t operands) {
  return operands == 3 ? &wide_product<T, 3> : &wide_product<T, 2>;
}

/// mul24 and mad24: the low 24 bits of the operands.
template <class T, bool High, bool Add>
void product_of_24_bits(Thread& thread, const Operation& operation) {
  const auto cut = [](T value) { return static_cast<std::int64_t>(static_cast<T>(value << 8) >> 8); };
  const std::int64_t product = cut(thread.read<T>(operation.slot[1])) * cut(thread.read<T>(operation.slot[2]));
  const auto sum = static_cast<std::uint64_t>(High ? product >> 16 : product) +
                   (Add ? thread.read<std::uint32_t>(operation.slot[3]) : 0);
  thread.write<T>(operation.slot[0], static_cast<T>(sum));
}

template <bool Add>
void encode_product_of_24_bits(Encoder& encoder) {
  const Scalar type = encoder.type();
  take_operands(encoder, Add ? 3 : 2, type);
  const bool is_signed = type == Scalar::S32, is_high = encoder.has("hi");
  if (is_high) {
    encoder.use(is_signed ? &product_of_24_bits<std::int32_t, true, Add>
                          : &product_of_24_bits<std::uint32_t, true, Add>);
  } else {
    encoder.use(is_signed ? &product_of_24_bits<std::int32_t, false, Add>
                          : &product_of_24_bits<std::uint32_t, false, Add>);
  }
}

constexpr std::array rules = {
    Rule{"addc", encode_with_carry},
    Rule{"subc", encode_with_carry},
    Rule{"madc", encode_with_carry},
    Rule{"mul24", encode_product_of_24_bits<false>},
    Rule{"mad24", encode_product_of_24_bits<true>},
};

}  // namespace

void encode_wide_product(Encoder& encoder, std::size_t operands) {
  const Scalar type = encoder.type();
  Operation& operation = encoder.operation();
  operation.slot[1] = encoder.source(1, type);
  operation.slot[2] = encoder.source(2, type);
  if (operands == 3) operation.slot[3] = encoder.source(3, Scalar::B64);
  operation.slot[0] = encoder.destination(0);
  switch (type) {
    case Scalar::U16:
      return encoder.use(wide_handler<std::uint16_t>(operands));
    case Scalar::S16:
      return encoder.use(wide_handler<std::int16_t>(operands));
    case Scalar::U32:
      return encoder.use(wide_handler<std::uint32_t>(operands));
    case Scalar::S32:
      return encoder.use(wide_handler<std::int32_t>(operands));
    default:
      encoder.fail("a wide product of this type");
  }
}

void encode_high_product(Encoder& encoder, std::size_t operands) {
  const Scalar type = encoder.type();
  take_operands(encoder, operands, type);
  encoder.use(operands == 3 ? integer_handler<HighProduct, 3>(type) : integer_handler<HighProduct, 2>(type));
}

void encode_with_carry(Encoder& encoder) {
  const std::string_view name = encoder.opcode().substr(0, encoder.opcode().find('.'));
  const bool product = name.starts_with("mad");
  const CarryKind kind = name.starts_with("add")   ? CarryKind::Sum
                         : name.starts_with("sub") ? CarryKind::Difference
                         : encoder.has("hi")       ? CarryKind::HighProduct
                                                   : CarryKind::LowProduct;
  take_operands(encoder, product ? 3 : 2, encoder.type());
  encoder.operation().mode =
      static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind) | (name.ends_with('c') ? takes_carry : 0) |
                                (encoder.has("cc") ? leaves_carry : 0));
  encoder.use(with_integer(encoder.type(), []<class T>() -> Handler { return &add_with_carry<T>; }));
}

std::span<const Rule> wide_arithmetic_rules() { return rules; }

}  // namespace gpushare::interpreter
