// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// Bytes of static shared memory of an entry, as far as it and the functions that it calls name it.
std::size_t static_shared_bytes(const Module& module, const Function& entry,
                                const std::vector<const Function*>& called);

/// The assembler takes 48 KB of static shared memory, on all GPUs.
constexpr std::size_t most_static_shared_bytes = 49'152;

/// Does one more parameter of so many bytes fit behind the entry's parameters?
bool has_room_for_parameter(const Module& module, const Function& entry, std::size_t bytes);

}  // namespace gpushare::ptx
