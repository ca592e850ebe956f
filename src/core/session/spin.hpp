// SPDX-License-Identifier: Apache-2.0
// Decides whether a thread spins for a while before it sleeps. Where a core is free, that saves the two system calls
// and the delay of the operating system's scheduler that a wake-up takes. Where none is free, a spinning thread keeps
// the core from the thread that it waits for, and both are slower than if it had slept. Which of the two holds depends
// on the other load of the machine, so both ways are measured: now and then a wait goes the other way, and the next
// ones too for as long as that is faster. A wait that is long because there was no work must not change the way.
#pragma once

#include <algorithm>
#include <array>
#include <thread>

#include "core/model/units.hpp"

namespace gpushare {

/// 0 on a machine with one core, where spinning keeps all other threads from working.
inline Duration most_spin(Duration wanted) { return std::thread::hardware_concurrency() > 1 ? wanted : Duration{}; }

/// Told how long waits took; reads no clock itself.
class SpinBudget {
 public:
  /// `most`: 0 never looks.
  explicit SpinBudget(Duration most) : most_(most) {
    means_[sleeping] = nanoseconds(most);  // until one is known
    means_[looking] = nanoseconds(most) / 2;
  }

  /// How long to look in the wait that begins.
  Duration begin_wait() {
    const bool better = means_[looking] < means_[sleeping] && means_[looking] < nanoseconds(most_);
    tries_other_ = ++waits_ % try_other_every == 0 || is_other_better_;
    looks_ = better != tries_other_;
    return looks_ ? most_ : Duration{};
  }

  /// The wait is over, and took so long, looking and sleeping.
  void end_wait(Duration took) {
    // Long waits say that looking is in vain, and no more than that.
    const double told = std::min(nanoseconds(took), 2 * nanoseconds(most_));
    const bool is_in_vain = looks_ && told >= nanoseconds(most_);
    is_other_better_ = tries_other_ && !is_in_vain && told < means_[looks_ ? sleeping : looking];
    double& mean = means_[looks_ ? looking : sleeping];
    mean += (told - mean) / 16;
  }

 private:
  static constexpr std::size_t sleeping = 0;
  static constexpr std::size_t looking = 1;
  static constexpr unsigned try_other_every = 128;  // seldom enough to leave the 99th percentile alone

  Duration most_;
  std::array<double, 2> means_{};
  unsigned waits_ = 0;
  bool looks_ = false;
  bool tries_other_ = false;
  bool is_other_better_ = false;  // it was, the last time
};

/// Tells the processor that this is a loop that waits.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace gpushare
