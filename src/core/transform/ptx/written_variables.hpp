// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <unordered_set>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// The variables among these that the module's code may write: those that are not surely only read. An address that is
/// stored, or passed to a function, may be written to.
std::unordered_set<std::string_view> written_variables(const Module& module,
                                                       const std::unordered_set<std::string_view>& variables);

}  // namespace gpushare::ptx
