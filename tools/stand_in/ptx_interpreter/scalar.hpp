// SPDX-License-Identifier: Apache-2.0
// The scalar types of PTX and how a register of 64 bits holds them.
//
// A register may hold anything above the width of its value: every read cuts the value out again. So a write needs not
// know how wide the register was declared, and ld.s8 into a 32-bit register comes out extended, as PTX wants it.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "ptx_interpreter/half.hpp"

namespace gpushare::interpreter {

enum class Scalar : std::uint8_t {
  Pred,
  B8,
  B16,
  B32,
  B64,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  BF16,
  F32,
  F64,
  F16x2,
  BF16x2,
  U16x2,
  S16x2,
};

/// The type a suffix names: "u32"; nothing where the suffix is no type.
std::optional<Scalar> scalar_named(std::string_view suffix);

std::size_t bytes_of(Scalar type);
bool is_float(Scalar type);

template <class T>
constexpr std::uint32_t width = 8 * sizeof(T);

template <class T>
constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, BrainHalf>;

template <class T>
constexpr bool is_real = std::is_floating_point_v<T> || is_half<T>;

template <class T>
T from_bits(std::uint64_t bits) {
  if constexpr (std::is_same_v<T, bool>) {
    return (bits & 1) != 0;
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(bits);
  } else if constexpr (is_half<T>) {
    return T{static_cast<std::uint16_t>(bits)};
  } else if constexpr (is_pair<T>) {
    return T::from_bits(static_cast<std::uint32_t>(bits));
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
std::uint64_t to_bits(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::uint64_t>(value);
  } else if constexpr (is_half<T>) {
    return value.bits;
  } else if constexpr (is_pair<T>) {
    return value.to_bits();
  } else {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
}

/// Calls choose.template operator()<T>() with the C++ type of an integer or untyped scalar; null for all others.
template <class Choose>
auto with_integer(Scalar type, Choose choose) -> decltype(choose.template operator()<std::uint32_t>()) {
  switch (type) {
    case Scalar::B8:
    case Scalar::U8:
      return choose.template operator()<std::uint8_t>();
    case Scalar::B16:
    case Scalar::U16:
      return choose.template operator()<std::uint16_t>();
    case Scalar::B32:
    case Scalar::U32:
      return choose.template operator()<std::uint32_t>();
    case Scalar::B64:
    case Scalar::U64:
      return choose.template operator()<std::uint64_t>();
    case Scalar::S8:
      return choose.template operator()<std::int8_t>();
    case Scalar::S16:
      return choose.template operator()<std::int16_t>();
    case Scalar::S32:
      return choose.template operator()<std::int32_t>();
    case Scalar::S64:
      return choose.template operator()<std::int64_t>();
    default:
      return nullptr;
  }
}

/// The same for floating-point scalars that are not packed.
template <class Choose>
auto with_real(Scalar type, Choose choose) -> decltype(choose.template operator()<float>()) {
  switch (type) {
    case Scalar::F16:
      return choose.template operator()<Half>();
    case Scalar::BF16:
      return choose.template operator()<BrainHalf>();
    case Scalar::F32:
      return choose.template operator()<float>();
    case Scalar::F64:
      return choose.template operator()<double>();
    default:
      return nullptr;
  }
}

}  // namespace gpushare::interpreter
