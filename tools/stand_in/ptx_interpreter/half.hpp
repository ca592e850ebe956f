// SPDX-License-Identifier: Apache-2.0
// The two 16-bit floating-point types. They compute as double and round once, in the rounding mode of the moment.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace gpushare::interpreter {

/// A 16-bit float with this many bits of mantissa; the rest, but for the sign, is the exponent.
template <int Mantissa>
struct SmallFloat {
  static constexpr int exponent_bits = 15 - Mantissa;
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr std::uint16_t infinity_bits = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << Mantissa);

  std::uint16_t bits = 0;

  SmallFloat() = default;
  explicit SmallFloat(std::uint16_t raw) : bits(raw) {}
  explicit SmallFloat(double value) : bits(encode(value)) {}

  explicit operator double() const {
    const int exponent = (bits & 0x7fff) >> Mantissa;
    const int fraction = bits & ((1 << Mantissa) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1) {
      return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
    }
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - Mantissa);
    return sign * std::ldexp(fraction + (1 << Mantissa), exponent - bias - Mantissa);
  }

  static std::uint16_t encode(double value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    if (std::isnan(value)) return 0x7fff;
    if (std::isinf(value)) return sign | infinity_bits;
    if (value == 0) return sign;
    const int exponent = std::max(std::ilogb(value), 1 - bias);
    // In units of the last place; may carry into the next power of two, which the sum below gets right.
    const double units = std::fabs(std::nearbyint(std::ldexp(value, Mantissa - exponent)));
    const auto magnitude =
        static_cast<std::uint32_t>(units) + (static_cast<std::uint32_t>(exponent - 1 + bias) << Mantissa);
    return sign | static_cast<std::uint16_t>(std::min<std::uint32_t>(magnitude, infinity_bits));
  }
};

using Half = SmallFloat<10>;
using BrainHalf = SmallFloat<7>;

/// Two of them in one 32-bit register (.f16x2, .bf16x2), the first in the low half.
template <class T>
struct Pair {
  using Element = T;
  T low, high;

  static Pair from_bits(std::uint32_t bits) {
    return {T(static_cast<std::uint16_t>(bits)), T(static_cast<std::uint16_t>(bits >> 16))};
  }
  std::uint64_t to_bits() const { return low.bits | (static_cast<std::uint64_t>(high.bits) << 16); }
};

template <class T>
constexpr bool is_pair = std::is_same_v<T, Pair<Half>> || std::is_same_v<T, Pair<BrainHalf>>;

}  // namespace gpushare::interpreter
