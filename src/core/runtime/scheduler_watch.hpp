// SPDX-License-Identifier: Apache-2.0
// Whether the scheduler's thread had a processor when it needed one. A GPU without a running scheduler continues under
// the last plan, and idles when that work is done.
#pragma once

#include <algorithm>

#include "core/model/units.hpp"

namespace gpushare {

/// The scheduler's delays in a run, not counting voluntary sleep.
struct SchedulerDelays {
  Duration longest_pause{};      ///< between two polls of the GPU; a policy's decisions are in it
  Duration without_processor{};  ///< in all: the system ran something else, or the thread waited for a lock
};

/// All calls by one thread.
class SchedulerWatch {
 public:
  void polls(Time now) {
    if (!is_awake_) return wake_up(now);
    longest_pause_ = std::max(longest_pause_, now - latest_);
    latest_ = now;
  }
  /// To be called before it sleeps.
  void sleeps(Time now);
  SchedulerDelays until(Time now) const;

 private:
  void wake_up(Time now);
  Duration lost_since_awake(Time now) const;

  bool is_awake_ = false;
  Time latest_{};
  Time awake_since_{};
  Duration processor_at_waking_{};
  Duration longest_pause_{};
  Duration without_processor_{};
};

}  // namespace gpushare
