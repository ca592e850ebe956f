// SPDX-License-Identifier: Apache-2.0
// A thread that is told from others while it works, and that any number of others may join.
#pragma once

#include <pthread.h>

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
          number_ = ::pthread_self();
          work();
          number_ = 0;  // another thread may have it later
        }) {}

  bool is_current() const { return ::pthread_self() == number_; }
  /// 0: it has ended its work.
  pthread_t number() const { return number_; }

  /// Nothing happens where it has been joined already.
  void join() {
    const std::scoped_lock lock(joining_);
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::mutex joining_;
  std::atomic<pthread_t> number_ = 0;
  std::thread thread_;
};

}  // namespace gpushare
