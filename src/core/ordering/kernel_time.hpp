// SPDX-License-Identifier: Apache-2.0
// Predicts how long a launch will take alone from the times of earlier launches of its kernel (CuMAS, section 5.3): the
// time per thread block of a first run on part of the grid, times the blocks. Two runs with different times per block
// show that the time is not proportional. If the larger run takes less per block, a part such as the launch does not
// grow with the grid, and the time is a straight line; if it takes more, the time is a power of the blocks.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "core/model/lru_cache.hpp"
#include "core/predictors/name_and_threads.hpp"

namespace gpushare {

class KernelTime {
 public:
  /// A launch of so many blocks, alone on the GPU, took so long. Of runs of one size the latest counts, and of sizes
  /// those that came last: a session has no end.
  void add(std::int64_t blocks, Duration time);

  /// Do the times grow with the blocks, as far as is known? A single run does not contradict it.
  bool is_linear() const;
  /// Nothing before the first run.
  std::optional<Duration> of(std::int64_t blocks) const;

 private:
  std::map<std::int64_t, Duration> runs_;  // by blocks
  std::deque<std::int64_t> sizes_;         // of those, in the order in which they came
};

/// The times of many kernels.
class KernelTimes {
 public:
  void add(const Kernel& kernel, std::int64_t blocks, Duration time) {
    times_[name_and_threads(kernel)].add(blocks, time);
  }
  std::size_t size() const { return times_.size(); }
  std::optional<Duration> of(const Kernel& kernel, std::int64_t blocks) const {
    const KernelTime* known = times_.peek(name_and_threads(kernel));
    return known == nullptr ? std::nullopt : known->of(blocks);
  }

 private:
  LruCache<NameAndThreads, KernelTime> times_{4096};
};

}  // namespace gpushare
