// SPDX-License-Identifier: Apache-2.0
// Whether another process is still there.
#pragma once

#include <cstdint>

namespace gpushare::programs {

/// True also of one that has ended while its parent has not asked for it: its memory and its GPU work are gone. A
/// process that may not be asked about is there.
bool is_dead(std::int32_t pid);

}  // namespace gpushare::programs
