// SPDX-License-Identifier: Apache-2.0
// The clock of a run on a real device, and the sleep from which other threads can wake it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "core/model/units.hpp"

namespace gpushare {

/// Starts when it is read for the first time.
class WallClock {
 public:
  using Clock = std::chrono::steady_clock;

  Time elapsed() const {
    const Clock::time_point now = Clock::now();
    if (!start_) start_ = now;
    return Time(std::chrono::duration_cast<Duration>(now - *start_));
  }
  Clock::time_point began() const { return start_.value_or(Clock::now()); }

 private:
  mutable std::optional<Clock::time_point> start_;
};

class WakeSignal {
 public:
  /// From any thread.
  void wake() {
    const std::scoped_lock lock(mutex_);
    woken_.store(true, std::memory_order_release);
    changed_.notify_all();
  }
  /// Was it woken since the last call?
  bool take() { return woken_.exchange(false, std::memory_order_acq_rel); }
  void wait_until(std::chrono::steady_clock::time_point end) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, end, [this] { return woken_.load(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> woken_{false};
};

}  // namespace gpushare
