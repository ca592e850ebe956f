// SPDX-License-Identifier: Apache-2.0
// The time of the simulated GPU: to a fraction of a nanosecond, as rates need it, and in the whole nanoseconds of
// events.
#pragma once

#include <cmath>

#include "core/model/units.hpp"

namespace gpushare {

class VirtualClock {
 public:
  double now() const { return now_; }  ///< nanoseconds
  Time time() const { return time_; }  ///< rounded

  void move_to(double now) {
    now_ = now;
    time_ = Time(Duration(std::llrint(now)));
  }

 private:
  double now_ = 0;
  Time time_{};
};

}  // namespace gpushare
