// SPDX-License-Identifier: Apache-2.0
// The clock that limits searches: the core has none.
#pragma once

#include <chrono>
#include <functional>

#include "core/model/units.hpp"

namespace gpushare::bindings {

/// True once so much time has passed from now.
inline std::function<bool()> over_after(Duration time) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  return [end] { return Clock::now() >= end; };
}

}  // namespace gpushare::bindings
