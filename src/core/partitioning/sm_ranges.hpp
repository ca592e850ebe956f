// SPDX-License-Identifier: Apache-2.0
// The numbers of neighbouring SMs for some launches that promise most by the contention model, which predicts each
// launch's speed on any number of SMs and how they slow one another down beyond the SMs.
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

/// SMs for each launch, at least one; all of the device in sum. Requires kernels with profiles and, at most, as many
/// launches as SMs.
std::vector<int> sm_ranges(const Device& device, std::span<const Launch* const> launches, RangeGoal goal);

/// The same, cached: to try out partitions takes some 0.3 ms.
class SmRanges {
 public:
  explicit SmRanges(RangeGoal goal) : goal_(goal) {}

  const std::vector<int>& of(const Device& device, std::span<const Launch* const> launches);

 private:
  RangeGoal goal_;
  LruCache<std::vector<LaunchKey>, std::vector<int>> known_{1024};
};

}  // namespace gpushare
