// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/rules/rules.hpp"

#include <map>

namespace gpushare::interpreter {
namespace {

std::map<std::string_view, const Rule*> collect() {
  std::map<std::string_view, const Rule*> found;
  for (const auto group :
       {arithmetic_rules(), wide_arithmetic_rules(), real_function_rules(), bit_rules(), bit_field_rules(),
        byte_rules(), video_rules(), comparison_rules(), conversion_rules(), move_rules(), memory_rules(),
        atomic_rules(), control_rules(), barrier_rules(), warp_rules()}) {
    for (const Rule& each : group) found[each.operation] = &each;
  }
  return found;
}

}  // namespace

const Rule* find_rule(std::string_view operation) {
  static const auto rules = collect();
  const auto found = rules.find(operation);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace gpushare::interpreter
