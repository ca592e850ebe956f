// SPDX-License-Identifier: Apache-2.0
// One SM of the simulated GPU: which blocks are resident and how fast they run.
#pragma once

#include <vector>

#include "core/model/residency.hpp"
#include "core/simulation/contention.hpp"
#include "core/simulation/event_queue.hpp"
#include "core/simulation/launches/active_launch.hpp"

namespace gpushare {

/// A resident block. Its work is done when its group's progress reaches `finish`.
struct ResidentBlock {
  double finish;
  std::int64_t block;
  Time started;
};

/// The resident blocks of one launch. All run at the same rate, so a change of rate moves one number, the group's
/// progress per nanosecond, and not every block.
struct ResidentGroup {
  ActiveLaunch* launch = nullptr;
  std::vector<ResidentBlock> blocks;  // the next to finish comes last
  double progress = 0;                // work done by a block that has been here since the group began
  double rate = 0;                    // work per nanosecond
  Traffic traffic;                    // of one block: its block_time leaves the limits of the bandwidth aside
  double bandwidth_share = 1;         // share of its wanted speed that the off-SM bandwidth allows
  int rated_blocks = 0;               // number of blocks for which the block time holds
  int started = 0;                    // blocks since the group began

  int resident() const { return static_cast<int>(blocks.size()); }

  /// A new block finishes after most others, so its place is near the front; and an SM holds few blocks to move.
  void add(const ResidentBlock& block);

  void set_block_time(double nanoseconds, const MemoryWait& wait) {
    traffic.block_time = nanoseconds;
    traffic.wait = wait;
    rated_blocks = resident();
    rate = bandwidth_share / traffic.block_time;
  }

  void set_bandwidth_share(double share) {
    bandwidth_share = share;
    rate = bandwidth_share / traffic.block_time;
  }
};

class StreamingMultiprocessor {
 public:
  explicit StreamingMultiprocessor(const SmCapacity& capacity) : room_(capacity) {}

  bool fits(const ActiveLaunch& launch) const { return room_.fits(launch.block); }
  int resident(const ActiveLaunch& launch) const;

  /// `wave`: how many blocks of the launch may be here at a time.
  void start(ActiveLaunch& launch, int wave, double now, Time started);

  struct Ended {
    ActiveLaunch* launch;
    std::int64_t block;
    Time started;
  };
  /// When the first block finishes at the present rates. To be asked again after every other change.
  double find_next_end();

  /// Ends the block that find_next_end() found. Only valid when its time is finite.
  Ended end_first(double now);

  /// Has the number of blocks of any launch changed since the rates were set?
  bool needs_rates() const;
  /// Forgets the groups of launches that have no block here any more.
  void drop_empty_groups();
  /// Lets all groups run at their rates up to now; call before any rate changes.
  void advance(double now);

  /// In order of age: which launch has been here for longest without a pause.
  std::vector<ResidentGroup>& groups() { return groups_; }

 private:
  ResidentGroup& group_of(ActiveLaunch& launch);

  SmRoom room_;
  std::vector<ResidentGroup> groups_;
  double advanced_to_ = 0;
  std::size_t next_to_end_ = 0;  // index into groups_
};

}  // namespace gpushare
