// SPDX-License-Identifier: Apache-2.0
// When a launch asks for more workers, and for how many (worker_demand.hpp, worker_tries.hpp). Where workers do not
// find their place, other launches have it or the hardware places them elsewhere: retrying at once would keep the
// hardware busy for nothing.
#pragma once

#include <algorithm>

#include "core/model/units.hpp"
#include "core/workers/worker_demand.hpp"
#include "core/workers/worker_tries.hpp"

namespace gpushare {

class TopUp {
 public:
  /// A new grant: `open_sms` SMs are those where the hardware may place workers.
  void granted(int open_sms) { open_sms_ = open_sms; }
  int open_sms() const { return open_sms_; }

  bool may_ask(Time now) const { return now >= next_; }
  /// The grant differs from the last one: the launch may ask at once, and its patience is that of a first try.
  void restart(Time now) {
    next_ = now;
    patience_ = first_patience;
  }
  /// The launch has asked.
  void asked(Time now) {
    next_ = now + patience_;
    patience_ = std::min(2 * patience_, longest_patience);
  }
  /// The same, where another launch has asked for it and the patience does not grow.
  void asked_first(Time now) {
    patience_ = first_patience;
    next_ = now + patience_;
  }

  /// The number of workers for the next try.
  int next(const WorkerDemand& missing, int sms, int max_residency) {
    return tries_.next(workers_to_launch(missing, open_sms_, sms, max_residency), sms * max_residency);
  }
  void none_is_missing() { tries_.have_found_places(); }

 private:
  static constexpr Duration first_patience{10'000};
  static constexpr Duration longest_patience{1'000'000};

  int open_sms_ = 0;
  Time next_{};
  Duration patience_{};
  WorkerTries tries_;
};

}  // namespace gpushare
