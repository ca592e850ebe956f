// SPDX-License-Identifier: Apache-2.0
// A thread that is told from others while it works, and that any number of others may join.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace gpushare {

class SessionThread {
 public:
  /// `work` throws nothing, and begins at once: what it uses has been made.
  template <typename Work>
  explicit SessionThread(Work work)
      : thread_([this, work] {
          own_ = std::this_thread::get_id();
          work();
          own_ = std::thread::id();  // another thread may have its number later
        }) {}

  bool is_current() const { return std::this_thread::get_id() == own_; }

  /// Nothing happens where it has been joined already.
  void join() {
    const std::scoped_lock lock(joining_);
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::mutex joining_;
  std::atomic<std::thread::id> own_;
  std::thread thread_;
};

}  // namespace gpushare
