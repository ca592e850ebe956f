// SPDX-License-Identifier: Apache-2.0
// The virtual time of simulated devices in wall-clock time, one clock for all devices of a session: where one of them
// falls behind, time stands still for all.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>

#include "core/model/errors.hpp"
#include "core/model/units.hpp"

namespace gpushare {

/// Any thread may use it.
class SimulatedClock {
 public:
  /// `speed`: seconds of virtual time in one of the wall clock's.
  explicit SimulatedClock(double speed) : speed_(speed) {
    require(speed > 0, "the speed of a simulated device must be above 0");
  }

  double speed() const { return speed_; }

  /// At most `latest`. It goes back where a device has fallen behind.
  Time now(Time latest) const {
    const auto elapsed = std::chrono::duration_cast<Duration>(Clock::now() - anchor_);
    const double time = nanoseconds(elapsed) * speed_ - static_cast<double>(forgotten_.load(std::memory_order_relaxed));
    return Time(Duration(std::llrint(std::min(time, nanoseconds(latest)))));
  }

  /// So much virtual time has not passed.
  void forget(Duration time) { forgotten_.fetch_add(time.count(), std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;

  double speed_;
  Clock::time_point anchor_ = Clock::now();
  std::atomic<std::int64_t> forgotten_ = 0;  // nanoseconds
};

}  // namespace gpushare
