// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/scalar.hpp"

#include <array>

namespace gpushare::interpreter {
namespace {

struct Description {
  std::string_view name;
  Scalar type;
  std::size_t bytes;
  bool real;
};

constexpr std::array descriptions = {
    Description{"pred", Scalar::Pred, 1, false},    Description{"b8", Scalar::B8, 1, false},
    Description{"b16", Scalar::B16, 2, false},      Description{"b32", Scalar::B32, 4, false},
    Description{"b64", Scalar::B64, 8, false},      Description{"u8", Scalar::U8, 1, false},
    Description{"u16", Scalar::U16, 2, false},      Description{"u32", Scalar::U32, 4, false},
    Description{"u64", Scalar::U64, 8, false},      Description{"s8", Scalar::S8, 1, false},
    Description{"s16", Scalar::S16, 2, false},      Description{"s32", Scalar::S32, 4, false},
    Description{"s64", Scalar::S64, 8, false},      Description{"f16", Scalar::F16, 2, true},
    Description{"bf16", Scalar::BF16, 2, true},     Description{"f32", Scalar::F32, 4, true},
    Description{"f64", Scalar::F64, 8, true},       Description{"f16x2", Scalar::F16x2, 4, true},
    Description{"bf16x2", Scalar::BF16x2, 4, true}, Description{"u16x2", Scalar::U16x2, 4, false},
    Description{"s16x2", Scalar::S16x2, 4, false},
};

const Description& description(Scalar type) { return descriptions[static_cast<std::size_t>(type)]; }

}  // namespace

std::optional<Scalar> scalar_named(std::string_view suffix) {
  for (const Description& each : descriptions) {
    if (each.name == suffix) return each.type;
  }
  return std::nullopt;
}

std::size_t bytes_of(Scalar type) { return description(type).bytes; }
bool is_float(Scalar type) { return description(type).real; }

}  // namespace gpushare::interpreter
