// SPDX-License-Identifier: Apache-2.0
// The co-run sets that have been met: which kernels ran side by side, under which weights and minimum speeds, and how
// the SMs are best allocated among them. A set is recognised when it runs again, so that its allocation is neither
// searched for nor tuned twice.
#pragma once

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/model/lru_cache.hpp"
#include "core/tuning/allocation/allocation_search.hpp"
#include "core/tuning/launch_classifier.hpp"
#include "core/tuning/online/online_tuner.hpp"

namespace gpushare {

struct CoRunSetOptions {
  Bounds bounds{};
  bool is_conservative = true;  ///< an equal partition first, where SMs serve the oldest block first
  /// Launches that take at most so many nanoseconds alone may run serially: a set of longer ones is another one.
  double longest_serial = 0;
  ProbeOptions probes{};
};

struct CoRunSet {
  AllocationChoice predicted;
  OnlineTuner tuner;
  std::unique_ptr<IncrementalSearch> search{};  ///< until it has found an allocation
  bool has_considered_serial = false;

  bool has_measured() const { return tuner.measured().has_value(); }
  const SpeedEstimate& estimate() const { return has_measured() ? *tuner.measured() : predicted.estimate; }
};

class CoRunSets {
 public:
  explicit CoRunSets(const CoRunSetOptions& options) : options_(options) {}

  /// The set of the launches that have slots. The reference stays valid until another set is asked for.
  CoRunSet& find(const CoSchedule& schedule, const Device& device);

  /// A tuner that begins with this allocation.
  OnlineTuner tuner_from(const SmAllocation& start, const CoSchedule& schedule) const;

  /// Where SMs serve the oldest block first, predictions of shared SMs are doubtful.
  bool is_conservative(const Device& device) const {
    return options_.is_conservative && device.per_sm.issue_order == IssueOrder::OldestFirst;
  }

 private:
  /// Number of the kernel, weight, minimum speed; and whether the launches may run serially.
  using Key = std::pair<std::vector<std::tuple<int, double, double>>, bool>;

  CoRunSet make(const CoSchedule& schedule, const Device& device) const;
  CoRunSet begin_with_equal_partition(const CoSchedule& schedule, const Device& device) const;
  AllocationChoice predict(const std::vector<Contender>& contenders, const Device& device) const;

  CoRunSetOptions options_;
  LruCache<Key, CoRunSet> sets_{1024};
};

}  // namespace gpushare
