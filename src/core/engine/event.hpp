// SPDX-License-Identifier: Apache-2.0
// Events, which a device reports to the scheduler. Policies, predictors, traces and metrics all use this one stream.
#pragma once

#include "core/model/units.hpp"

namespace gpushare {

enum class EventKind : std::uint8_t {
  ApplicationArrived,  ///< its next operation may start: its first one, unless it was on another device before
  LaunchArrived,       ///< a launch waits for a plan that gives it a quota
  BlockStarted,
  BlockEnded,
  LaunchEnded,  ///< all its blocks have ended; those of one that was withdrawn: all that had started
  CopyStarted,
  CopyEnded,
  ApplicationEnded,  ///< its last operation has ended, on this device at least
  DeadlineReached,   ///< the plan's wake_at
  PriorityChanged,   ///< the application's priority is another one from now on
  BlocksExpected,    ///< so many blocks of a launch are expected to run here, as other devices run the rest
};

/// A block event stands for one block (as in the simulator) or for a group: polling a real GPU shows how many blocks of
/// a launch started or ended on an SM since the last poll, not which ones. A group of ends has the time of the poll.
struct Event {
  Time time{};
  Time started;            ///< of the block or copy that ended; for a group, `time` - the mean duration of its blocks
  std::int64_t block = 0;  ///< index in its grid; for a group, how many of the launch started (ended) before it; for a
                           ///< change of priority, the new one; of blocks that are expected, their number
  ApplicationId application{};
  OperationId operation{};
  SmId sm{};
  std::int32_t blocks = 1;  ///< how many blocks started or ended together; a real GPU reports groups
  EventKind kind{};
  /// The device knows the next event already, and no plan is asked for in between: one poll of a real GPU may show an
  /// event for every SM, and deciding after each of them would take longer than they stay true.
  bool next_is_known = false;

  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace gpushare
