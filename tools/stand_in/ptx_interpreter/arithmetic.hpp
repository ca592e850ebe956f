// SPDX-License-Identifier: Apache-2.0
// Handlers from plain functions: Operation::slot[0] = Function::apply(slot[1], slot[2], ...), with the modifiers of
// floating-point instructions around it.
#pragma once

#include <array>
#include <cfenv>
#include <cmath>
#include <utility>

#include "ptx_interpreter/encoder.hpp"
#include "ptx_interpreter/thread.hpp"

namespace gpushare::interpreter {

/// Halves compute as double.
template <class T>
auto widened(T value) {
  if constexpr (is_half<T>) {
    return static_cast<double>(value);
  } else {
    return value;
  }
}

template <class T>
T flushed(T value, bool flush) {
  if constexpr (std::is_same_v<T, float>) {
    if (flush && std::fpclassify(value) == FP_SUBNORMAL) return std::copysign(0.0f, value);
  }
  return value;
}

/// To [0, 1], NaN to 0.
template <class T>
T saturated(T value) {
  return value > T(0) ? (value < T(1) ? value : T(1)) : T(0);
}

/// Sets the rounding mode of the processor. What is computed meanwhile must go through volatile variables: compilers
/// move arithmetic over calls.
class DirectedRounding {
 public:
  explicit DirectedRounding(Rounding rounding) { std::fesetround(modes[static_cast<std::size_t>(rounding)]); }
  ~DirectedRounding() { std::fesetround(FE_TONEAREST); }
  DirectedRounding(const DirectedRounding&) = delete;
  DirectedRounding& operator=(const DirectedRounding&) = delete;

 private:
  static constexpr std::array modes = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
};

template <class T, class Wide>
T finished(Wide wide, const Operation& operation) {
  if (operation.saturate) wide = saturated(wide);
  if (operation.relu && wide < 0) wide = 0;
  return flushed(T(wide), operation.flush);
}

template <class Function, class Wide, std::size_t... Index>
Wide through_volatile(const volatile Wide* values, std::index_sequence<Index...>) {
  const volatile Wide result = Function::apply(static_cast<Wide>(values[Index])...);
  return result;
}

template <class Function, class T, class... Arguments>
T real_result(const Operation& operation, Arguments... arguments) {
  if constexpr (is_pair<T>) {
    using Element = typename T::Element;
    return {real_result<Function, Element>(operation, arguments.low...),
            real_result<Function, Element>(operation, arguments.high...)};
  } else {
    if (operation.rounding == Rounding::Nearest) {
      return finished<T>(Function::apply(widened(flushed(arguments, operation.flush))...), operation);
    }
    const DirectedRounding scope(operation.rounding);
    using Wide = decltype(widened(T{}));
    volatile Wide values[] = {widened(flushed(arguments, operation.flush))...};
    return finished<T>(through_volatile<Function>(values, std::index_sequence_for<Arguments...>()), operation);
  }
}

template <class Function, class T, std::size_t... Index>
void apply_to_reals(Thread& thread, const Operation& operation, std::index_sequence<Index...>) {
  thread.write<T>(operation.slot[0], real_result<Function, T>(operation, thread.read<T>(operation.slot[Index + 1])...));
}

template <class Function, class T, std::size_t Operands>
void real_operation(Thread& thread, const Operation& operation) {
  apply_to_reals<Function, T>(thread, operation, std::make_index_sequence<Operands>());
}

template <class Function, class T, std::size_t... Index>
void apply_to_integers(Thread& thread, const Operation& operation, std::index_sequence<Index...>) {
  thread.write(operation.slot[0], Function::apply(thread.read<T>(operation.slot[Index + 1])...));
}

template <class Function, class T, std::size_t Operands>
void integer_operation(Thread& thread, const Operation& operation) {
  apply_to_integers<Function, T>(thread, operation, std::make_index_sequence<Operands>());
}

/// Two integers of 16 bits in one register.
template <class Function, class T, std::size_t... Index>
void apply_to_both(Thread& thread, const Operation& operation, std::index_sequence<Index...>) {
  const auto half = [&](int shift) -> std::uint32_t {
    const T value = Function::apply(static_cast<T>(thread.read<std::uint32_t>(operation.slot[Index + 1]) >> shift)...);
    return static_cast<std::uint16_t>(operation.relu && value < T{0} ? T{0} : value);
  };
  thread.write<std::uint32_t>(operation.slot[0], half(0) | half(16) << 16);
}

template <class Function, class T, std::size_t Operands>
void packed_operation(Thread& thread, const Operation& operation) {
  apply_to_both<Function, T>(thread, operation, std::make_index_sequence<Operands>());
}

template <class Function, std::size_t Operands>
Handler real_handler(Scalar type) {
  if (type == Scalar::F16x2) return &real_operation<Function, Pair<Half>, Operands>;
  if (type == Scalar::BF16x2) return &real_operation<Function, Pair<BrainHalf>, Operands>;
  return with_real(type, []<class T>() -> Handler { return &real_operation<Function, T, Operands>; });
}

template <class Function, std::size_t Operands>
Handler integer_handler(Scalar type) {
  if (type == Scalar::U16x2) return &packed_operation<Function, std::uint16_t, Operands>;
  if (type == Scalar::S16x2) return &packed_operation<Function, std::int16_t, Operands>;
  return with_integer(type, []<class T>() -> Handler { return &integer_operation<Function, T, Operands>; });
}

/// The destination and so many sources, all of one type.
void take_operands(Encoder& encoder, std::size_t sources, Scalar type);
/// Rounding, .ftz, .sat, .relu.
void take_modifiers(Encoder& encoder);

}  // namespace gpushare::interpreter
