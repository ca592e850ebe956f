// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/workers/rank_room.hpp"

namespace gpushare {

/// What a launch has use for, for make_room().
struct Need {
  int per_sm = 0;                ///< workers on an SM where it may have some, if its tasks are spread evenly
  std::size_t emptied_from = 0;  ///< from this SM on there would be places for all tasks, if who ranks behind were gone
};

/// What the launch has there, or will have.
inline int held(const RoomClaim& launch, const Need& need, std::size_t sm) {
  return std::max(launch.present[sm], std::min(launch.wanted[sm], need.per_sm));
}

/// How the SM's L1 cache is divided, at least: all who are there have been let in. Below zero where nobody is.
inline Bytes divided(std::span<const RoomClaim> launches, std::size_t sm) {
  Bytes widest{-1};
  for (const RoomClaim& launch : launches) {
    if (launch.present[sm] > 0) widest = std::max(widest, launch.split);
  }
  return widest;
}

}  // namespace gpushare
