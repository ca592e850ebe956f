// SPDX-License-Identifier: Apache-2.0
// A priority that grows while its owner waits (EffiSha section 7): by one per millisecond, by 20 at most.
#pragma once

#include <algorithm>
#include <optional>

#include "core/model/units.hpp"

namespace gpushare {

class AgeingPriority {
 public:
  static constexpr Duration step{std::chrono::milliseconds(1)};
  static constexpr int most_steps = 20;

  explicit AgeingPriority(int initial = 0) : initial_(initial) {}

  int initial() const { return initial_; }
  /// Earlier waiting time still counts.
  void begin_at(int initial) { initial_ = initial; }
  int at(Time now) const {
    return initial_ + static_cast<int>(std::min<Duration::rep>(waited(now) / step, most_steps));
  }

  /// When it will be at least `priority`, if its owner waits on: never, if that takes more than 20 steps.
  std::optional<Time> reaches(int priority) const {
    const int steps = std::max(priority - initial_, 0);
    if (!since_ || steps > most_steps) return std::nullopt;
    return *since_ + (steps * step - waited_);
  }

  void wait_from(Time now) {
    if (!since_) since_ = now;
  }
  /// Its waiting time still counts, until reset().
  void stop(Time now) {
    waited_ = waited(now);
    since_.reset();
  }
  void reset() { *this = AgeingPriority(initial_); }

 private:
  Duration waited(Time now) const { return since_ ? waited_ + (now - *since_) : waited_; }

  int initial_;
  Duration waited_{};
  std::optional<Time> since_;
};

}  // namespace gpushare
