// SPDX-License-Identifier: Apache-2.0
// What a device tells the scheduler. Policies, predictors, traces and metrics all live on this one stream.
#pragma once

#include "core/units.hpp"

namespace gpushare {

enum class EventKind : std::uint8_t {
  ApplicationArrived,  ///< its first operation may start
  LaunchArrived,       ///< a launch waits for a plan that gives it a quota
  BlockStarted,
  BlockEnded,
  LaunchEnded,  ///< all its blocks have ended
  CopyStarted,
  CopyEnded,
  ApplicationEnded,  ///< its last operation has ended
  DeadlineReached,   ///< the plan's wake_at
};

struct Event {
  Time time{};
  Time started;            ///< of the block or copy that ended
  std::int64_t block = 0;  ///< index in its grid, for block events
  ApplicationId application{};
  OperationId operation{};
  SmId sm{};
  EventKind kind{};

  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace gpushare
