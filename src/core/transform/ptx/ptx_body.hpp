// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/transform/ptx/ptx_cursor.hpp"
#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// Parses a function's body from its opening to its closing brace.
std::vector<Statement> parse_body(Cursor& cursor);

}  // namespace gpushare::ptx
