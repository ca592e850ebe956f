// SPDX-License-Identifier: Apache-2.0
// The progress of an application in blocks, and the time for which it was present. The gap until its next launch counts
// as present up to `patience`, and the overhead of workers counts as well: the better of two allocations is the one
// under which launches end sooner. Block durations do not show that: in a short window only short blocks both begin and
// end, and gaps and half-empty last waves are in none of them (docs/internals/tuner.md).
#pragma once

#include <optional>

#include "core/engine/event.hpp"

namespace gpushare {

class BlockProgress {
 public:
  /// `patience`: of a longer pause after a launch the rest does not count as present.
  explicit BlockProgress(Duration patience = {}) : patience_(patience) {}

  /// An event of this application.
  void observe(const Event& event);

  std::int64_t ended_blocks() const { return ended_; }
  std::int64_t ended_launches() const { return launches_; }

  /// The mean duration of the blocks that have ended since an earlier moment, in nanoseconds. Some must have.
  double block_time_since(const BlockProgress& before) const;

  /// For how many nanoseconds the application has been present.
  double present(Time now) const;

  /// Blocks that are done at this time. Those in flight count in part: they take so many nanoseconds, and at most
  /// `places` of them run at a time, because of an original kernel all blocks are reported at its start.
  double done(Time now, double block_time, double places) const;

  /// Blocks per nanosecond from the last end of a launch before an earlier moment to the last one before now: exact,
  /// gaps included. nullopt where no launch has ended since, or none before.
  std::optional<double> rate_of_launches_since(const BlockProgress& before) const;
  /// The latest launch ran under another allocation.
  void forget_last_launch() { last_launch_.reset(); }

 private:
  struct LaunchEnd {
    std::int64_t blocks;
    double present;
  };

  void count_until(Time now);

  Duration patience_;
  std::int64_t pending_ = 0;  // launches
  bool has_come_ = false;
  Time since_{};        // when the first of those that are pending arrived, or when the last one ended
  double present_ = 0;  // until then
  std::int64_t ended_ = 0;
  std::int64_t launches_ = 0;
  std::optional<LaunchEnd> last_launch_;
  std::int64_t in_flight_ = 0;
  double took_ = 0;    // the durations of those that have ended, summed
  double starts_ = 0;  // when those in flight began, summed
};

}  // namespace gpushare
