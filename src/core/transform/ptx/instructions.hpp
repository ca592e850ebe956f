// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

inline bool is_any_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

template <typename Use>
void for_each_instruction(const Function& function, Use use) {
  for (const Statement& statement : function.statements) {
    if (const auto* instruction = std::get_if<Instruction>(&statement)) use(*instruction);
  }
}

template <typename Matches>
bool any_instruction(const Function& function, Matches matches) {
  bool any = false;
  for_each_instruction(function, [&](const Instruction& instruction) { any = any || matches(instruction); });
  return any;
}

}  // namespace gpushare::ptx
