// SPDX-License-Identifier: Apache-2.0
// Numbers as PTX writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx_interpreter/scalar.hpp"

namespace gpushare::interpreter {

/// 12, 0x1F, 0b01, 017, 3U.
std::optional<std::uint64_t> integer_literal(std::string_view text);

/// The bits of a number in a register of this type: integers, 0f3F800000, 0d..., 1.5. Nothing if it is no number.
std::optional<std::uint64_t> literal_bits(std::string_view text, bool negative, Scalar type);

}  // namespace gpushare::interpreter
