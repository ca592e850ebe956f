// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// The module's text with one name for each register. Braces are scopes, in which inline assembly declares registers of
/// its own by names that stand for others elsewhere in the function: the analyses tell registers by their names.
/// Nothing where each has one name already.
std::optional<std::string> with_distinct_registers(const Module& module);

}  // namespace gpushare::ptx
