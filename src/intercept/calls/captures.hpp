// SPDX-License-Identifier: Apache-2.0
// Launches that are being captured: they are no work yet, and no event or mark may be added to them.
#pragma once

#include <atomic>

#include "intercept/calls/streams.hpp"

namespace gpushare::intercept {

/// Captures that have begun in this process and have not ended.
extern std::atomic<int> captures_under_way;

/// One load where nothing is captured.
inline bool is_captured(CUstream stream) {
  return captures_under_way.load(std::memory_order_acquire) != 0 && is_capturing(stream);
}

}  // namespace gpushare::intercept
