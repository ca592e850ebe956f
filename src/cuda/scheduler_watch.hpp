// SPDX-License-Identifier: Apache-2.0
// Whether the thread that schedules had a processor when it wanted one. A GPU whose scheduler does not run goes on with
// the last plan, and stands still once that has been done.
#pragma once

#include <algorithm>

#include "core/model/units.hpp"

namespace gpushare::cuda {

/// Of a run, sleeping of its own will left out.
struct SchedulerDelays {
  Duration longest_pause{};      ///< between two looks at what has ended; a policy's decisions are in it
  Duration without_processor{};  ///< in all: the system ran something else, or the thread waited for a lock
};

/// All calls by one thread.
class SchedulerWatch {
 public:
  void looks(Time now) {
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

}  // namespace gpushare::cuda
