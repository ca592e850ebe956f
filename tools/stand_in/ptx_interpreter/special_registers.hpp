// SPDX-License-Identifier: Apache-2.0
// %tid, %ctaid, %laneid and their like.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpushare::interpreter {

struct Thread;

struct SpecialRegister {
  std::uint64_t (*read)(const Thread&) = nullptr;
  bool changes = false;  ///< must be read anew each time: the clocks
};

/// By name, with component: "%tid.x"; nothing where it is no special register.
std::optional<SpecialRegister> special_register(std::string_view name);

}  // namespace gpushare::interpreter
