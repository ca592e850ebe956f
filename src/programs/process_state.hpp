// SPDX-License-Identifier: Apache-2.0
// Whether another process still exists, and still runs.
#pragma once

#include <cstdint>

namespace gpushare::programs {

/// True also for a zombie: its memory and its GPU work are gone. A process that this one may not query counts as
/// existing.
bool is_dead(std::int32_t pid);

/// True from the time on when none of its threads runs its program any more, also while the kernel still ends it: for
/// a process with a CUDA context the driver takes a while.
bool is_ending(std::int32_t pid);

}  // namespace gpushare::programs
