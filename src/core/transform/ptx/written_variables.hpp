// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <unordered_set>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// Of these variables of a module, those that its code may write: what is not surely only loaded from. An address that
/// is stored, or handed to a function, may be written to.
std::unordered_set<std::string_view> written_variables(const Module& module,
                                                       const std::unordered_set<std::string_view>& variables);

}  // namespace gpushare::ptx
