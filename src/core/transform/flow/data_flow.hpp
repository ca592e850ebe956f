// SPDX-License-Identifier: Apache-2.0
// What instructions read and write, by name: registers without their component, arguments and results of calls, the
// memory of a block and that of a thread, each as a whole, and the carry flag. The answer may include too much, but
// never too little.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

std::vector<std::string_view> names_read(const Module& module, const Instruction& instruction);

/// Global memory is left out: other blocks may write it too, so a read of it may differ in any case.
std::vector<std::string_view> names_written(const Module& module, const Instruction& instruction);

/// %v of %v.x.
std::string_view without_component(std::string_view word);

/// The one name that an operand consists of; empty where it is something else.
std::string_view single_name(const Module& module, const Instruction& instruction, std::size_t operand);

/// The integer that an operand is, as registers hold it; nothing for floats and for values that do not fit.
std::optional<std::int64_t> parsed_number(const Module& module, TokenRange operand);

}  // namespace gpushare::ptx
