// SPDX-License-Identifier: Apache-2.0
// Whether another process still exists.
#pragma once

#include <cstdint>

namespace gpushare::programs {

/// True also for a zombie: its memory and its GPU work are gone. A process that this one may not query counts as
/// existing.
bool is_dead(std::int32_t pid);

}  // namespace gpushare::programs
