// SPDX-License-Identifier: Apache-2.0
// How long to look for work before going to sleep. Sleeping and being woken costs two system calls and a turn of the
// operating system's scheduler; looking costs a core. So: look for longer where the last sleeps were so short that
// looking would have bridged them, for shorter where they were not.
#pragma once

#include <algorithm>

#include "core/units.hpp"

namespace gpushare::daemon {

/// Told what happened; reads no clock itself.
class SpinBudget {
 public:
  explicit SpinBudget(Duration most) : most_(most), budget_(most / 4) {}

  Duration now() const { return budget_; }
  /// A sleep ended after so long.
  void slept(Duration how_long) {
    budget_ = how_long < most_ ? std::min(most_, std::max(2 * budget_, most_ / 16)) : budget_ / 2;
  }

 private:
  Duration most_;
  Duration budget_;
};

/// Tells the processor that this is a loop that waits.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace gpushare::daemon
