// SPDX-License-Identifier: Apache-2.0
// cvt between all integers and floats.
#include <array>
#include <limits>

#include "ptx_interpreter/arithmetic.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

/// Rounding to an integer: .rni, .rzi, .rmi, .rpi; None leaves the value as it is.
enum class ToInteger : std::uint8_t { None, Nearest, Zero, Down, Up };

template <class T>
T rounded(T value, ToInteger mode) {
  switch (mode) {
    case ToInteger::None:
      return value;
    case ToInteger::Nearest:
      return std::nearbyint(value);
    case ToInteger::Zero:
      return std::trunc(value);
    case ToInteger::Down:
      return std::floor(value);
    case ToInteger::Up:
      return std::ceil(value);
  }
  return value;
}

template <class To, class From>
To integer_from_integer(From value, bool saturate) {
  if (saturate) {
    if (std::cmp_less(value, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (std::cmp_greater(value, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

/// Clamps to the range. NaN gives 0, or the top bit alone if either side has 64 bits.
template <class To, class From>
To integer_from_real(From value, ToInteger mode) {
  if (std::isnan(value)) {
    constexpr bool top_bit = sizeof(To) == 8 || std::is_same_v<From, double>;
    return top_bit ? static_cast<To>(std::uint64_t{1} << (8 * sizeof(To) - 1)) : To{0};
  }
  const double whole = rounded(static_cast<double>(value), mode);
  if (whole < static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  // 2^n - 1 as a double may be 2^n, hence the >=.
  if (whole >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(whole);
}

template <class To, class From>
To real_from(From value) {
  if constexpr (is_half<To>) {
    return To(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

/// In the rounding mode of the operation; volatile keeps the conversion inside of it.
template <class To, class From>
To directed_real_from(From value, Rounding rounding) {
  if (rounding == Rounding::Nearest) return real_from<To>(value);
  const DirectedRounding scope(rounding);
  volatile From source = value;
  if constexpr (is_half<To>) {
    return real_from<To>(static_cast<From>(source));
  } else {
    volatile To result = real_from<To>(static_cast<From>(source));
    return result;
  }
}

template <class To, class From>
void convert(Thread& thread, const Operation& operation) {
  const auto value = widened(flushed(thread.read<From>(operation.slot[1]), operation.flush));
  const auto mode = static_cast<ToInteger>(operation.mode);
  if constexpr (is_real<To>) {
    auto source = value;
    if constexpr (is_real<From>) source = rounded(source, mode);
    To result = directed_real_from<To>(source, operation.rounding);
    if (operation.saturate) result = To(saturated(widened(result)));
    if (operation.relu && widened(result) < 0) result = To(decltype(widened(result)){0});
    thread.write<To>(operation.slot[0], flushed(result, operation.flush));
  } else if constexpr (is_real<From>) {
    thread.write<To>(operation.slot[0], integer_from_real<To>(value, mode));
  } else {
    thread.write<To>(operation.slot[0], integer_from_integer<To>(value, operation.saturate));
  }
}

template <class Choose>
Handler with_any(Scalar type, Choose choose) {
  return is_float(type) ? with_real(type, choose) : with_integer(type, choose);
}

Handler conversion(Scalar to, Scalar from) {
  return with_any(to, [from]<class To>() -> Handler {
    return with_any(from, []<class From>() -> Handler { return &convert<To, From>; });
  });
}

/// cvt.rn.f16x2.f32 d, a, b: a goes into the high half.
template <class T>
void convert_two(Thread& thread, const Operation& operation) {
  const auto half = [&](Slot slot) {
    const T value = directed_real_from<T>(thread.read<float>(slot), operation.rounding);
    return operation.relu && static_cast<double>(value) < 0 ? T(0.0) : value;
  };
  thread.write<Pair<T>>(operation.slot[0], {half(operation.slot[2]), half(operation.slot[1])});
}

ToInteger rounding_to_integer(const Encoder& encoder) {
  if (encoder.has("rni")) return ToInteger::Nearest;
  if (encoder.has("rzi")) return ToInteger::Zero;
  if (encoder.has("rmi")) return ToInteger::Down;
  return encoder.has("rpi") ? ToInteger::Up : ToInteger::None;
}

void encode_conversion(Encoder& encoder) {
  const Scalar to = encoder.type(0), from = encoder.type(1);
  if (encoder.has("satfinite")) encoder.fail("the interpreter does not know this conversion");
  take_modifiers(encoder);
  if (to == Scalar::F16x2 || to == Scalar::BF16x2) {
    take_operands(encoder, 2, from);
    return encoder.use(to == Scalar::F16x2 ? &convert_two<Half> : &convert_two<BrainHalf>);
  }
  take_operands(encoder, 1, from);
  encoder.operation().mode = static_cast<std::uint8_t>(rounding_to_integer(encoder));
  encoder.use(conversion(to, from));
}

constexpr std::array rules = {Rule{"cvt", encode_conversion}};

}  // namespace

std::span<const Rule> conversion_rules() { return rules; }

}  // namespace gpushare::interpreter
