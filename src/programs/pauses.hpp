// SPDX-License-Identifier: Apache-2.0
// The pauses of a program that goes before others: are these to wait meanwhile? To hold them again, and to wait until
// what they have under way has ended, delays the program, and a training may pause many times in a step. So while most
// pauses are short, others wait until one has become a long one. But beside a program that pauses for longer than it
// works they would hardly ever run: then they do not wait.
#pragma once

#include <algorithm>
#include <optional>

#include "core/model/units.hpp"

namespace gpushare::programs {

class Pauses {
 public:
  /// The program has had nothing to do since then.
  void begin(Time idle_since) { idle_since_ = idle_since; }
  /// It has again. `launched`: the GPU time of all that it has launched; `longest`: of a short pause, after which
  /// others do not wait in any case.
  void end(Time now, Duration launched, Duration longest) {
    if (!idle_since_) return;
    const Duration length = now - *idle_since_;
    idle_since_.reset();
    add(share_of_short_, length < longest ? 1 : 0);
    add(paused_ns_, nanoseconds(std::min(length, longest)));
    add(worked_ns_, nanoseconds(launched - launched_));
    launched_ = launched;
  }
  /// Is it busy, or has it been within the last moments?
  bool has_been_busy_lately(Time now, bool is_busy) {
    constexpr Duration lately(50'000'000);
    if (is_busy) last_busy_ = now;
    return last_busy_ && now - *last_busy_ < lately;
  }
  bool are_to_be_waited_through() const { return share_of_short_ > 0.5 && paused_ns_ <= worked_ns_; }

 private:
  /// To a mean over the last ones.
  static void add(double& mean, double value) {
    constexpr double memory = 16;
    mean += (value - mean) / memory;
  }

  std::optional<Time> last_busy_;
  std::optional<Time> idle_since_;
  Duration launched_{};  // when the last pause ended
  double share_of_short_ = 0;
  double paused_ns_ = 0;  // in one of them
  double worked_ns_ = 0;  // between two
};

}  // namespace gpushare::programs
