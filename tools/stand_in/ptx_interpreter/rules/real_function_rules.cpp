// SPDX-License-Identifier: Apache-2.0
// rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh by the host's library: the same on every run, but not the last bits of the
// approximations that a GPU has. testp.
#include <array>

#include "ptx_interpreter/arithmetic.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

struct Reciprocal {
  template <class T>
  static T apply(T a) {
    return T(1) / a;
  }
};
struct SquareRoot {
  template <class T>
  static T apply(T a) {
    return std::sqrt(a);
  }
};
struct ReciprocalSquareRoot {
  template <class T>
  static T apply(T a) {
    return T(1) / std::sqrt(a);
  }
};
struct PowerOfTwo {
  template <class T>
  static T apply(T a) {
    return std::exp2(a);
  }
};
struct BinaryLogarithm {
  template <class T>
  static T apply(T a) {
    return std::log2(a);
  }
};
struct Sine {
  template <class T>
  static T apply(T a) {
    return std::sin(a);
  }
};
struct Cosine {
  template <class T>
  static T apply(T a) {
    return std::cos(a);
  }
};
struct HyperbolicTangent {
  template <class T>
  static T apply(T a) {
    return std::tanh(a);
  }
};

template <class Function>
void encode(Encoder& encoder) {
  take_operands(encoder, 1, encoder.type());
  take_modifiers(encoder);
  encoder.use(real_handler<Function, 1>(encoder.type()));
}

enum class Property : std::uint8_t { Finite, Infinite, Number, NotANumber, Normal, Subnormal };
constexpr std::array<std::string_view, 6> properties = {"finite",     "infinite", "number",
                                                        "notanumber", "normal",   "subnormal"};

template <class T>
void test_property(Thread& thread, const Operation& operation) {
  const int kind = std::fpclassify(thread.read<T>(operation.slot[1]));
  bool holds = false;
  switch (static_cast<Property>(operation.mode)) {
    case Property::Finite:
      holds = kind != FP_INFINITE && kind != FP_NAN;
      break;
    case Property::Infinite:
      holds = kind == FP_INFINITE;
      break;
    case Property::Number:
      holds = kind != FP_NAN;
      break;
    case Property::NotANumber:
      holds = kind == FP_NAN;
      break;
    case Property::Normal:
      holds = kind == FP_NORMAL;
      break;
    case Property::Subnormal:
      holds = kind == FP_SUBNORMAL;
      break;
  }
  thread.write<bool>(operation.slot[0], holds);
}

void encode_test(Encoder& encoder) {
  take_operands(encoder, 1, encoder.type());
  for (std::size_t i = 0; i < properties.size(); ++i) {
    if (encoder.has(properties[i])) encoder.operation().mode = static_cast<std::uint8_t>(i);
  }
  encoder.use(encoder.type() == Scalar::F64 ? &test_property<double> : &test_property<float>);
}

constexpr std::array rules = {
    Rule{"rcp", encode<Reciprocal>},
    Rule{"sqrt", encode<SquareRoot>},
    Rule{"rsqrt", encode<ReciprocalSquareRoot>},
    Rule{"ex2", encode<PowerOfTwo>},
    Rule{"lg2", encode<BinaryLogarithm>},
    Rule{"sin", encode<Sine>},
    Rule{"cos", encode<Cosine>},
    Rule{"tanh", encode<HyperbolicTangent>},
    Rule{"testp", encode_test},
};

}  // namespace

std::span<const Rule> real_function_rules() { return rules; }

}  // namespace gpushare::interpreter
