// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// The instructions (as their first tokens) that initialize an mbarrier which may still be valid when the function
/// ends. An mbarrier must not be initialized while it is valid, as the next task would. It is not valid any more where
/// the thread that has initialized it invalidates it, at an address known to be the same, on every path.
std::vector<std::size_t> find_lasting_mbarriers(const Module& module, const Function& function);

}  // namespace gpushare::ptx
