// SPDX-License-Identifier: Apache-2.0
// The sleep of a thread from which others can wake it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace gpushare {

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
