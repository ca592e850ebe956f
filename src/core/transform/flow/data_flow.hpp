// SPDX-License-Identifier: Apache-2.0
// What instructions read and write, by name: registers without their component, what is handed over in calls, and the
// memory of a block and that of a thread, each as a whole, and the carry flag. Rather too much than too little.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

std::vector<std::string_view> names_read(const Module& module, const Instruction& instruction);

/// Global memory is left out: whoever reads there sees what other blocks write as well.
std::vector<std::string_view> names_written(const Module& module, const Instruction& instruction);

/// %v of %v.x.
std::string_view without_component(std::string_view word);

/// The one name that an operand consists of; empty where it is something else.
std::string_view single_name(const Module& module, const Instruction& instruction, std::size_t operand);

/// The integer that an operand is, as registers hold it; nothing of what is written as a float, and what does not fit.
std::optional<std::int64_t> parsed_number(const Module& module, TokenRange operand);

}  // namespace gpushare::ptx
