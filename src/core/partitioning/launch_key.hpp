// SPDX-License-Identifier: Apache-2.0
// The key under which results of the contention model are cached: an evaluation takes 10 us, too long for every launch
// of a loop. Launches are equal to the model if their blocks are as many, and need and cost the same.
#pragma once

#include "core/model/workload.hpp"

namespace gpushare {

struct LaunchKey {
  BlockNeeds needs;
  BlockCost cost;
  std::int64_t blocks = 0;
  friend auto operator<=>(const LaunchKey&, const LaunchKey&) = default;
};

inline LaunchKey key_of(const Launch& launch) {
  return {.needs = launch.kernel.needs, .cost = launch.kernel.cost, .blocks = launch.blocks};
}

}  // namespace gpushare
