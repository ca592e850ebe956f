// SPDX-License-Identifier: Apache-2.0
// The linear model that SRTF section 3.2 compares with: a straight line through the end times of the blocks of one
// SM. Accurate, but it needs many blocks before it can predict anything.
#pragma once

#include <optional>

#include "core/model/units.hpp"

namespace gpushare {

class LinearRegression {
 public:
  /// The time from the launch's first block on this SM to the end of its next one, or of its next few: a group counts
  /// as so many blocks that ended at once.
  void add_end(Duration since_first_start, std::int64_t blocks = 1);

  /// Blocks that have ended.
  std::int64_t samples() const { return samples_; }

  /// When the last of `blocks` blocks will have ended; nullopt with fewer than two samples. Throws InvalidInput where
  /// that is no time.
  std::optional<Duration> runtime(std::int64_t blocks) const;

 private:
  // About the means, so that nothing is lost where they are large.
  std::int64_t samples_ = 0;
  double mean_end_ = 0;   // nanoseconds
  double co_moment_ = 0;  // sum of (number - mean number) * (end - mean end)
};

}  // namespace gpushare
