// SPDX-License-Identifier: Apache-2.0
// How many neighbouring SMs each of some launches should have: the division that promises most by the contention model,
// which knows each launch's speed on any number of SMs and what they take from one another beyond these.
#pragma once

#include <span>
#include <vector>

#include "core/model/lru_cache.hpp"
#include "core/model/workload.hpp"
#include "core/partitioning/launch_key.hpp"

namespace gpushare {

enum class RangeGoal {
  Throughput,  ///< the sum of normalised progress, and a tenth of the smallest, which decides between equal sums
  Balance,     ///< the smallest, so that equal amounts of work end together, and a tenth of the sum
};

/// SMs for each, at least one, that add up to all of the device. Requires kernels with profiles and, at most, as many
/// launches as SMs.
std::vector<int> sm_ranges(const Device& device, std::span<const Launch* const> launches, RangeGoal goal);

/// The same, remembering: divisions are tried out, which takes some 0.3 ms.
class SmRanges {
 public:
  explicit SmRanges(RangeGoal goal) : goal_(goal) {}

  const std::vector<int>& of(const Device& device, std::span<const Launch* const> launches);

 private:
  RangeGoal goal_;
  LruCache<std::vector<LaunchKey>, std::vector<int>> known_{1024};
};

}  // namespace gpushare
