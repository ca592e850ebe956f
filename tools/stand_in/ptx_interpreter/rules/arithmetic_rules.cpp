// SPDX-License-Identifier: Apache-2.0
// add, sub, mul.lo, mad.lo, fma, div, rem, abs, neg, min, max, sad, copysign.
#include <algorithm>
#include <array>
#include <limits>

#include "ptx_interpreter/arithmetic.hpp"
#include "ptx_interpreter/rules/rules.hpp"
#include "ptx_interpreter/wide_arithmetic.hpp"

namespace gpushare::interpreter {
namespace {

/// Integers wrap around.
template <class T>
std::uint64_t wide(T value) {
  return static_cast<std::uint64_t>(value);
}

struct Add {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (is_real<T>)
      return a + b;
    else
      return static_cast<T>(wide(a) + wide(b));
  }
};
struct Subtract {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (is_real<T>)
      return a - b;
    else
      return static_cast<T>(wide(a) - wide(b));
  }
};
struct Multiply {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (is_real<T>)
      return a * b;
    else
      return static_cast<T>(wide(a) * wide(b));
  }
};
struct MultiplyAdd {
  template <class T>
  static T apply(T a, T b, T c) {
    if constexpr (is_real<T>)
      return std::fma(a, b, c);
    else
      return static_cast<T>(wide(a) * wide(b) + wide(c));
  }
};
/// Division of integers by zero gives all ones on the hardware; PTX leaves it open.
struct Divide {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (is_real<T>)
      return a / b;
    else if (b == 0)
      return static_cast<T>(-1);
    else if (std::is_signed_v<T> && b == static_cast<T>(-1))
      return static_cast<T>(0 - wide(a));
    else
      return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <class T>
  static T apply(T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct Absolute {
  template <class T>
  static T apply(T a) {
    if constexpr (is_real<T>)
      return std::fabs(a);
    else
      return a < 0 ? static_cast<T>(0 - wide(a)) : a;
  }
};
struct Negate {
  template <class T>
  static T apply(T a) {
    if constexpr (is_real<T>)
      return -a;
    else
      return static_cast<T>(0 - wide(a));
  }
};
/// The number if the other one is NaN; -0 is smaller than +0.
struct Minimum {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (is_real<T>) {
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
      if (a == b) return std::signbit(a) ? a : b;
    }
    return b < a ? b : a;
  }
};
struct Maximum {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (is_real<T>) {
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
      if (a == b) return std::signbit(a) ? b : a;
    }
    return a < b ? b : a;
  }
};
template <class Base>
struct NanWins {
  template <class T>
  static T apply(T a, T b) {
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : Base::apply(a, b);
  }
};
struct AbsoluteDifference {
  template <class T>
  static T apply(T a, T b, T c) {
    return static_cast<T>(wide(c) + (a < b ? wide(b) - wide(a) : wide(a) - wide(b)));
  }
};
/// copysign d, a, b: the sign of a, the rest of b.
struct CopySign {
  template <class T>
  static T apply(T a, T b) {
    return std::copysign(b, a);
  }
};
template <int Sign>
struct SaturatedSum {
  static std::int32_t apply(std::int32_t a, std::int32_t b) {
    const std::int64_t sum = std::int64_t{a} + Sign * std::int64_t{b};
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX));
  }
};

/// For integers and floats.
template <class Function, std::size_t Operands>
void encode(Encoder& encoder) {
  const Scalar type = encoder.type();
  take_operands(encoder, Operands, type);
  take_modifiers(encoder);
  encoder.use(is_float(type) ? real_handler<Function, Operands>(type) : integer_handler<Function, Operands>(type));
}

template <class Function, std::size_t Operands>
void encode_integer(Encoder& encoder) {
  take_operands(encoder, Operands, encoder.type());
  encoder.use(integer_handler<Function, Operands>(encoder.type()));
}

template <class Function, std::size_t Operands>
void encode_real(Encoder& encoder) {
  take_operands(encoder, Operands, encoder.type());
  take_modifiers(encoder);
  encoder.use(real_handler<Function, Operands>(encoder.type()));
}

template <class Function>
struct OrZero {
  static std::int32_t apply(std::int32_t a, std::int32_t b) { return std::max(Function::apply(a, b), 0); }
};

template <class Function>
void encode_extreme_or_zero(Encoder& encoder) {
  take_operands(encoder, 2, Scalar::S32);
  encoder.use(&integer_operation<OrZero<Function>, std::int32_t, 2>);
}

template <class Function>
void encode_extreme(Encoder& encoder) {
  if (encoder.has("NaN")) return encode_real<NanWins<Function>, 2>(encoder);
  if (encoder.has("xorsign") || encoder.operands() > 3) encoder.fail("the interpreter does not know this variant");
  if (encoder.has("relu") && encoder.type() == Scalar::S32) return encode_extreme_or_zero<Function>(encoder);
  encode<Function, 2>(encoder);
}

template <class Function, int Sign>
void encode_sum(Encoder& encoder) {
  if (encoder.has("cc")) return encode_with_carry(encoder);
  if (!encoder.has("sat") || encoder.type() != Scalar::S32) return encode<Function, 2>(encoder);
  take_operands(encoder, 2, Scalar::S32);
  encoder.use(&integer_operation<SaturatedSum<Sign>, std::int32_t, 2>);
}

template <class Function, std::size_t Operands>
void encode_product(Encoder& encoder) {
  if (encoder.has("cc")) return encode_with_carry(encoder);
  if (encoder.has("wide")) return encode_wide_product(encoder, Operands);
  if (encoder.has("hi")) return encode_high_product(encoder, Operands);
  encode<Function, Operands>(encoder);
}

constexpr std::array rules = {
    Rule{"add", encode_sum<Add, 1>},
    Rule{"sub", encode_sum<Subtract, -1>},
    Rule{"mul", encode_product<Multiply, 2>},
    Rule{"mad", encode_product<MultiplyAdd, 3>},
    Rule{"fma", encode_real<MultiplyAdd, 3>},
    Rule{"div", encode<Divide, 2>},
    Rule{"rem", encode_integer<Remainder, 2>},
    Rule{"abs", encode<Absolute, 1>},
    Rule{"neg", encode<Negate, 1>},
    Rule{"min", encode_extreme<Minimum>},
    Rule{"max", encode_extreme<Maximum>},
    Rule{"sad", encode_integer<AbsoluteDifference, 3>},
    Rule{"copysign", encode_real<CopySign, 2>},
};

}  // namespace

void take_operands(Encoder& encoder, std::size_t sources, Scalar type) {
  for (std::size_t i = 1; i <= sources; ++i) encoder.operation().slot[i] = encoder.source(i, type);
  encoder.operation().slot[0] = encoder.destination(0);
}

void take_modifiers(Encoder& encoder) {
  Operation& operation = encoder.operation();
  operation.flush = encoder.has("ftz");
  operation.saturate = encoder.has("sat");
  operation.relu = encoder.has("relu");
  if (encoder.has("rz")) operation.rounding = Rounding::Zero;
  if (encoder.has("rm")) operation.rounding = Rounding::Down;
  if (encoder.has("rp")) operation.rounding = Rounding::Up;
}

std::span<const Rule> arithmetic_rules() { return rules; }

}  // namespace gpushare::interpreter
