// SPDX-License-Identifier: Apache-2.0
// The allocations that have been probed, and the samples of each. The last three samples count, and of these the
// median, because a host that pauses spoils one of them; or the last one, if it is higher: partitions on which original
// kernels run become available only some time after they were first wanted.
#pragma once

#include <functional>
#include <vector>

#include "core/tuning/allocation/speed_estimate.hpp"

namespace gpushare {

struct Sample {
  SpeedEstimate seen;
  double value;
};

struct AllocationSamples {
  SmAllocation allocation;
  std::vector<Sample> samples{};  ///< the last three; empty where the allocation was rejected without one

  /// The median, of two the lower one; or the last one, if it is higher. nullptr where there is none.
  const Sample* typical() const;
  double value() const;
};

class SampleHistory {
 public:
  void add(const SmAllocation& allocation, const SpeedEstimate& seen, double value);
  void reject(const SmAllocation& allocation);
  void clear() { allocations_.clear(); }

  bool knows(const SmAllocation& allocation) const { return find(allocation) != nullptr; }
  double value_of(const SmAllocation& allocation) const;
  /// Requires a sample of this allocation.
  const SpeedEstimate& typical_estimate(const SmAllocation& allocation) const {
    return find(allocation)->typical()->seen;
  }
  /// Are there only two samples, with values that differ by more than that?
  bool needs_third_sample(const SmAllocation& allocation, double difference) const;
  const AllocationSamples& best() const;
  /// The best of this kind among those with samples; nullptr where there is none.
  const AllocationSamples* best_of(const std::function<bool(const SmAllocation&)>& is_of_kind) const;

 private:
  const AllocationSamples* find(const SmAllocation& allocation) const;

  std::vector<AllocationSamples> allocations_;
};

}  // namespace gpushare
