// SPDX-License-Identifier: Apache-2.0
// The clock of a run on a real device: the host's, or another one that is read in its place.
#pragma once

#include <chrono>
#include <optional>

#include "core/model/units.hpp"

namespace gpushare {

/// Starts when it is read for the first time.
class WallClock {
 public:
  using Clock = std::chrono::steady_clock;
  using Read = Clock::time_point (*)();

  explicit WallClock(Read read = &Clock::now) : read_(read) {}

  Time elapsed() const {
    const Clock::time_point now = read_();
    if (!start_) start_ = now;
    return Time(std::chrono::duration_cast<Duration>(now - *start_));
  }
  Clock::time_point began() const { return start_.value_or(read_()); }

 private:
  Read read_;
  mutable std::optional<Clock::time_point> start_;
};

}  // namespace gpushare
