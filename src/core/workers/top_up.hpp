// SPDX-License-Identifier: Apache-2.0
// When a launch asks for more workers, and for how many (worker_demand.hpp, worker_tries.hpp). Where workers do not
// find their place, other launches have it or the hardware places them elsewhere: retrying at once would keep the
// hardware busy for nothing.
#pragma once

#include <algorithm>

#include "core/model/device.hpp"
#include "core/workers/worker_demand.hpp"
#include "core/workers/worker_tries.hpp"

namespace gpushare {

class TopUp {
 public:
  explicit TopUp(const RuntimeTuning& tuning = {})
      : first_patience_(tuning.first_top_up_patience), longest_patience_(tuning.longest_top_up_patience) {}

  /// A new grant: `open_sms` SMs are those where the hardware may place workers.
  void granted(int open_sms) { open_sms_ = open_sms; }
  int open_sms() const { return open_sms_; }

  bool may_ask(Time now) const { return now >= next_; }
  /// The grant differs from the last one: the launch may ask at once, and its patience is that of a first try.
  void restart(Time now) {
    next_ = now;
    patience_ = first_patience_;
  }
  /// The launch has asked.
  void asked(Time now) {
    next_ = now + patience_;
    patience_ = std::min(2 * patience_, longest_patience_);
  }
  /// The same, where another launch has asked for it and the patience does not grow.
  void asked_first(Time now) {
    patience_ = first_patience_;
    next_ = now + patience_;
  }

  /// The number of workers for the next try.
  int next(const WorkerDemand& missing, int sms, int max_residency) {
    return tries_.next(workers_to_launch(missing, open_sms_, sms, max_residency), sms * max_residency);
  }
  void none_is_missing() { tries_.have_found_places(); }

 private:
  Duration first_patience_;
  Duration longest_patience_;
  int open_sms_ = 0;
  Time next_{};
  Duration patience_{};
  WorkerTries tries_;
};

}  // namespace gpushare
