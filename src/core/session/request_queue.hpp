// SPDX-License-Identifier: Apache-2.0
// Requests of any threads for one that carries them out, which sleeps here while there is nothing to do, or in its
// device, and is woken in either.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "core/session/live_gpu.hpp"
#include "core/session/spin.hpp"

namespace gpushare {

/// All methods require the lock of one mutex, which is the caller's.
template <typename Request>
class RequestQueue {
 public:
  bool is_empty() const { return requests_.empty(); }

  void push(Request request) {
    const bool is_first = is_empty();  // the thread has been woken for those before, and has not taken them yet
    requests_.push_back(std::move(request));
    if (is_first) wake();
  }

  /// Exchanged for an empty vector, whose memory is used again.
  void take(std::vector<Request>& requests) { std::swap(requests_, requests); }

  void wake() {
    is_wanted_.store(true, std::memory_order_release);
    if (gpu_ != nullptr) gpu_->wake();
    awake_.notify_one();
  }

  /// The device in which the thread may sleep; nullptr: none.
  void set_gpu(LiveGpu* gpu) { gpu_ = gpu; }
  bool has_gpu() const { return gpu_ != nullptr; }

  /// For the one thread: until a request has come, or `is_wanted` holds after wake(). Spins for a moment before it
  /// sleeps, where that has been worth it lately: an application that submits one launch after the other returns soon.
  template <typename Condition>
  void await(std::unique_lock<std::mutex>& lock, Condition is_wanted) {
    const auto has_to_go_on = [&] { return !is_empty() || is_wanted(); };
    if (!has_to_go_on()) sleep(lock, has_to_go_on);
    is_wanted_ = false;
  }

 private:
  /// A thread that sleeps answers tens of microseconds late.
  static constexpr Duration longest_spin{50'000};

  template <typename Condition>
  void sleep(std::unique_lock<std::mutex>& lock, Condition has_to_go_on) {
    const auto start = std::chrono::steady_clock::now();
    const auto until = start + spin_.begin_wait();
    lock.unlock();
    // The thread that wakes this one is about to leave the mutex: to sleep until then would take longer.
    const auto may_go_on = [&] { return is_wanted_.load(std::memory_order_acquire) && lock.try_lock(); };
    while (std::chrono::steady_clock::now() < until && !may_go_on()) relax();
    if (!lock.owns_lock()) lock.lock();
    awake_.wait(lock, has_to_go_on);
    spin_.end_wait(std::chrono::steady_clock::now() - start);
  }

  std::vector<Request> requests_;
  std::condition_variable awake_;
  std::atomic<bool> is_wanted_ = false;  // it has been woken, and has not looked
  SpinBudget spin_{most_spin(longest_spin)};
  LiveGpu* gpu_ = nullptr;
};

}  // namespace gpushare
