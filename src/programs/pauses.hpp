// SPDX-License-Identifier: Apache-2.0
// The pauses of a program that goes before others: when should these be let go? To hold them again, and to wait until
// what they have under way has ended, delays the program by about half a millisecond. A training pauses for less than
// that many times in a step, and a server for much longer between two requests. So while most pauses are over soon,
// others are let go once a pause has become a long one.
#pragma once

#include <optional>

#include "core/model/units.hpp"

namespace gpushare::programs {

class Pauses {
 public:
  /// The program has had nothing to do since then.
  void begin(Time idle_since) { idle_since_ = idle_since; }
  /// It has again. `longest`: of a short pause.
  void end(Time now, Duration longest) {
    if (!idle_since_) return;
    const double is_short = now - *idle_since_ < longest ? 1 : 0;
    share_of_short_ += (is_short - share_of_short_) / memory;
    idle_since_.reset();
  }
  bool are_mostly_short() const { return share_of_short_ > 0.5; }

 private:
  static constexpr double memory = 16;

  std::optional<Time> idle_since_;
  double share_of_short_ = 0;
};

}  // namespace gpushare::programs
