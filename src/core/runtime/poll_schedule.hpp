// SPDX-License-Identifier: Apache-2.0
// When to read the workers' tables: soon after a change, then less and less often, and once more in another way where a
// read is late.
#pragma once

#include <algorithm>

#include "core/model/device.hpp"

namespace gpushare {

/// What a poll might show.
struct PollNeed {
  bool any_unsettled = false;  ///< a launch waits for what the tables will show
  bool any_running = false;    ///< workers are on the GPU
  bool events_wait = false;    ///< the policy has not processed all events yet
};

class PollSchedule {
 public:
  explicit PollSchedule(const RuntimeTuning& tuning = {})
      : shortest_wait_(tuning.shortest_poll_wait),
        longest_wait_(tuning.longest_poll_wait),
        patience_(tuning.late_poll),
        patience_with_place_(tuning.late_poll_with_place) {}

  /// Something has changed that the tables may show.
  void soon() { wait_ = shortest_wait_; }

  bool is_due(Time now, const PollNeed& need) const;

  void started(Time now) { started_ = now; }
  void ended(Time now);
  /// When the last poll was started: its tables show nothing later.
  Time started_at() const { return started_; }

  /// Does the poll that was started last take too long? Where SMs are reserved for the other way to read, a shorter
  /// time is too long.
  bool is_late(Time now, bool has_reserved_place) const {
    return now - started_ >= (has_reserved_place ? patience_with_place_ : patience_);
  }

 private:
  Duration shortest_wait_;
  Duration longest_wait_;
  Duration patience_;
  Duration patience_with_place_;
  Time started_{};
  Time ended_{};
  Duration wait_ = shortest_wait_;
};

// The policy processes the last poll for a while. Where a launch waits, the next poll runs meanwhile.
inline bool PollSchedule::is_due(Time now, const PollNeed& need) const {
  if (!need.any_unsettled && !need.any_running) return false;
  const Duration wait = !need.any_unsettled ? wait_ : need.events_wait ? Duration{} : shortest_wait_;
  return now - ended_ >= wait;
}

inline void PollSchedule::ended(Time now) {
  ended_ = now;
  wait_ = std::min(2 * wait_, longest_wait_);
}

}  // namespace gpushare
