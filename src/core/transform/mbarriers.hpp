// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/transform/ptx_module.hpp"

namespace gpushare::ptx {

/// The first instruction (as its first token) that initializes an mbarrier which may still be valid when the function
/// ends. An mbarrier must not be initialized while it is valid, as the next task would. It is not valid any more where
/// the thread that has initialized it invalidates it, at an address known to be the same, whatever way it takes.
std::optional<std::size_t> find_lasting_mbarrier(const Module& module, const Function& function);

}  // namespace gpushare::ptx
