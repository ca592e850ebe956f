// SPDX-License-Identifier: Apache-2.0
// One rule for each instruction of PTX: it picks the handler and fills in the operation.
#pragma once

#include <span>
#include <string_view>

namespace gpushare::interpreter {

class Encoder;

struct Rule {
  std::string_view operation;  ///< the opcode up to its first dot
  void (*apply)(Encoder&);
};

std::span<const Rule> arithmetic_rules();
std::span<const Rule> wide_arithmetic_rules();
std::span<const Rule> real_function_rules();
std::span<const Rule> bit_rules();
std::span<const Rule> bit_field_rules();
std::span<const Rule> byte_rules();
std::span<const Rule> video_rules();
std::span<const Rule> comparison_rules();
std::span<const Rule> conversion_rules();
std::span<const Rule> move_rules();
std::span<const Rule> memory_rules();
std::span<const Rule> atomic_rules();
std::span<const Rule> control_rules();
std::span<const Rule> barrier_rules();
std::span<const Rule> warp_rules();

/// Null where no group knows the operation.
const Rule* find_rule(std::string_view operation);

}  // namespace gpushare::interpreter
