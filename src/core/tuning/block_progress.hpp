// SPDX-License-Identifier: Apache-2.0
// What an application gets done, in blocks, while it is there. Time until its next launch counts as well, as long as it
// is waited for, and so does what workers cost: of two divisions the better one is that under which launches end
// sooner. Block durations do not tell that: in a short window only short blocks both begin and end, and gaps and
// half-empty last waves are in none of them (docs/internals/tuner.md).
#pragma once

#include <optional>

#include "core/engine/event.hpp"

namespace gpushare {

class BlockProgress {
 public:
  /// `patience`: for so long after a launch the next one is waited for; a longer pause is the application's own affair.
  explicit BlockProgress(Duration patience = {}) : patience_(patience) {}

  /// An event of this application.
  void observe(const Event& event);

  std::int64_t ended_blocks() const { return ended_; }
  std::int64_t ended_launches() const { return launches_; }

  /// How long the blocks took, in the mean, that have ended since an earlier moment; in nanoseconds. Some must have.
  double block_time_since(const BlockProgress& before) const;

  /// For how many nanoseconds it has been there at this time.
  double present(Time now) const;

  /// Blocks that are done at this time; those in flight in part, if they take so many nanoseconds and there are so many
  /// places: of a launch that runs as it was written all blocks are reported at its start.
  double done(Time now, double block_time, double places) const;

  /// Blocks per nanosecond between the latest end of a launch at an earlier moment and that of now: exact, gap
  /// included. nullopt where no launch has ended between, or none before.
  std::optional<double> rate_of_launches_since(const BlockProgress& before) const;
  /// The latest launch ran under other conditions.
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
