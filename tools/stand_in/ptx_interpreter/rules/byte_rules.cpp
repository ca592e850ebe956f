// SPDX-License-Identifier: Apache-2.0
// What works on the bytes of a word: prmt, dp4a, dp2a, vadd4 and its like.
#include <algorithm>
#include <array>

#include "ptx_interpreter/arithmetic.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

enum class Permutation : std::uint8_t {
  Digits,            ///< one digit of the selector for each byte; its fourth bit asks for the byte's sign instead
  Forward,           ///< f4e: four bytes upwards from the selected one
  Backward,          ///< b4e
  ReplicateByte,     ///< rc8
  ClampLeft,         ///< ecl
  ClampRight,        ///< ecr
  ReplicateHalfword  ///< rc16
};
constexpr std::array<std::string_view, 7> permutations = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};

/// Which of the eight bytes goes to this place, as a digit.
std::uint32_t digit_for(Permutation mode, std::uint32_t selector, std::uint32_t place) {
  const std::uint32_t selected = selector & 3;
  switch (mode) {
    case Permutation::Digits:
      return selector >> (4 * place) & 0xf;
    case Permutation::Forward:
      return selected + place;
    case Permutation::Backward:
      return (selected - place) & 7;
    case Permutation::ReplicateByte:
      return selected;
    case Permutation::ClampLeft:
      return std::max(place, selected);
    case Permutation::ClampRight:
      return std::min(place, selected);
    case Permutation::ReplicateHalfword:
      return 2 * (selected & 1) + (place & 1);
  }
  return 0;
}

void permute_bytes(Thread& thread, const Operation& operation) {
  const std::uint64_t bytes = thread.read<std::uint32_t>(operation.slot[1]) |
                              static_cast<std::uint64_t>(thread.read<std::uint32_t>(operation.slot[2])) << 32;
  const auto selector = thread.read<std::uint32_t>(operation.slot[3]);
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t digit = digit_for(static_cast<Permutation>(operation.mode), selector, i);
    auto byte = static_cast<std::uint32_t>(bytes >> (8 * (digit & 7)) & 0xff);
    if ((digit & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  thread.write<std::uint32_t>(operation.slot[0], result);
}

void encode_permutation(Encoder& encoder) {
  take_operands(encoder, 3, Scalar::B32);
  for (std::size_t i = 1; i < permutations.size(); ++i) {
    if (encoder.has(permutations[i])) encoder.operation().mode = static_cast<std::uint8_t>(i);
  }
  encoder.use(&permute_bytes);
}

/// dp4a: four products of bytes, added to c.
template <class A, class B>
void dot_product(Thread& thread, const Operation& operation) {
  const auto a = thread.read<std::uint32_t>(operation.slot[1]), b = thread.read<std::uint32_t>(operation.slot[2]);
  auto sum = thread.read<std::uint32_t>(operation.slot[3]);
  for (int shift = 0; shift < 32; shift += 8) {
    sum += static_cast<std::uint32_t>(static_cast<A>(a >> shift) * static_cast<B>(b >> shift));
  }
  thread.write<std::uint32_t>(operation.slot[0], sum);
}

/// dp2a: two products of a halfword of a and a byte of b, added to c. `mode` is 2 for the upper bytes.
template <class A, class B>
void short_dot_product(Thread& thread, const Operation& operation) {
  const auto a = thread.read<std::uint32_t>(operation.slot[1]), b = thread.read<std::uint32_t>(operation.slot[2]);
  auto sum = thread.read<std::uint32_t>(operation.slot[3]);
  for (int i = 0; i < 2; ++i) {
    sum += static_cast<std::uint32_t>(static_cast<A>(a >> (16 * i)) * static_cast<B>(b >> (8 * (operation.mode + i))));
  }
  thread.write<std::uint32_t>(operation.slot[0], sum);
}

bool first_is_signed(const Encoder& encoder) { return encoder.type(0) == Scalar::S32; }
bool second_is_signed(const Encoder& encoder) { return encoder.type(1) == Scalar::S32; }

void encode_dot_product(Encoder& encoder) {
  take_operands(encoder, 3, Scalar::B32);
  const bool b = second_is_signed(encoder);
  if (first_is_signed(encoder)) {
    return encoder.use(b ? &dot_product<std::int8_t, std::int8_t> : &dot_product<std::int8_t, std::uint8_t>);
  }
  encoder.use(b ? &dot_product<std::uint8_t, std::int8_t> : &dot_product<std::uint8_t, std::uint8_t>);
}

void encode_short_dot_product(Encoder& encoder) {
  take_operands(encoder, 3, Scalar::B32);
  encoder.operation().mode = encoder.has("hi") ? 2 : 0;
  const bool b = second_is_signed(encoder);
  if (first_is_signed(encoder)) {
    return encoder.use(b ? &short_dot_product<std::int16_t, std::int8_t>
                         : &short_dot_product<std::int16_t, std::uint8_t>);
  }
  encoder.use(b ? &short_dot_product<std::uint16_t, std::int8_t> : &short_dot_product<std::uint16_t, std::uint8_t>);
}

constexpr std::array rules = {
    Rule{"prmt", encode_permutation},
    Rule{"dp4a", encode_dot_product},
    Rule{"dp2a", encode_short_dot_product},
};

}  // namespace

std::span<const Rule> byte_rules() { return rules; }

}  // namespace gpushare::interpreter
