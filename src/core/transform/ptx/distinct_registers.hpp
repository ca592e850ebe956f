// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// The module's text with a distinct name for each register. Braces are scopes, in which inline assembly declares
/// registers by names that stand for others elsewhere in the function, and the analyses identify registers by name.
/// Nothing where the names are distinct already.
std::optional<std::string> with_distinct_registers(const Module& module);

}  // namespace gpushare::ptx
