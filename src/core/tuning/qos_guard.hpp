// SPDX-License-Identifier: Apache-2.0
// Keeps what applications were promised while they share the GPU: minimum speeds, and latency bounds, which are minimum
// speeds of launches. It sets the speed that every slot has to keep, raises that of an application which has had less,
// and finds launches with a bound that cannot be kept side by side with others.
#pragma once

#include <algorithm>
#include <vector>

#include "core/tuning/launch_classifier.hpp"
#include "core/tuning/slowdown_deficit.hpp"

namespace gpushare {

class QosGuard {
 public:
  /// Feed every event of a launch that is planned for.
  void observe(const Event& event) { deficit_.observe(event); }
  void forget(ApplicationId application) { deficit_.forget(application); }
  /// The allocation has changed: earlier launches say nothing about it.
  void restart(Time now) { deficit_.restart(now); }

  /// Books a launch that has ended, if it had a slot and its application a minimum speed.
  void account(const Event& ended, const CoSchedule& schedule);

  /// The speed that has to be asked for so that the application keeps its minimum speed.
  double speed_to_ask_for(const CoRunSlot& slot) const {
    return std::min(1.0, slot.contender.min_speed * deficit_.factor(slot.application));
  }

  /// Sets the minimum speed of every contender, also of those that asked for none. Where none asks for any, all weights
  /// are equal and the schedule begins with an equal partition, none is needed: that an equal partition breaks one is
  /// no more than a prediction. Under unequal weights the best sum may starve the light ones.
  static void set_min_speeds(CoSchedule& schedule, bool begins_with_equal_partition);

  /// The first slot with a latency bound that these speeds break; the end of the slots where there is none.
  static std::vector<CoRunSlot>::iterator find_broken_latency_bound(CoSchedule& schedule,
                                                                    const std::vector<double>& speeds,
                                                                    bool are_measured);

  /// Has any slot been promised a speed, which probes of other allocations might break?
  static bool has_promises(const CoSchedule& schedule) {
    return std::ranges::any_of(schedule.slots, [](const CoRunSlot& slot) { return slot.least_speed().has_value(); });
  }

 private:
  SlowdownDeficit deficit_;
};

}  // namespace gpushare
