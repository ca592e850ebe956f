// SPDX-License-Identifier: Apache-2.0
// Ranks as hardware stream priorities. Where workers of several launches wait for room, the hardware takes those of the
// most urgent stream first, and those of one priority in the order of their launch. There are few priorities, and a
// worker that waits keeps the one it was launched with; so each launch takes a level relative to what is under way.
#pragma once

#include <algorithm>
#include <span>

namespace gpushare {

/// A launch with workers that are on the GPU or wait for it.
struct LevelInUse {
  int rank = 0;
  int level = 0;  ///< 0 is the most urgent
};

/// The level for workers of this rank, among `levels` of them: behind or beside all that rank before it, before all
/// that rank behind it. Where both cannot be, it does not overtake. It is the least urgent such level, to leave levels
/// for later launches. Workers of the same rank, such as the launch's earlier ones, do not restrict it.
inline int level_for(int rank, std::span<const LevelInUse> in_use, int levels) {
  int level = levels - 1;
  int behind = 0;
  for (const LevelInUse& other : in_use) {
    if (other.rank > rank) level = std::min(level, other.level - 1);
    if (other.rank < rank) behind = std::max(behind, other.level);
  }
  return std::clamp(std::max(level, behind), 0, levels - 1);
}

}  // namespace gpushare
