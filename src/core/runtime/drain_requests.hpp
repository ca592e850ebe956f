// SPDX-License-Identifier: Apache-2.0
// Some calls of the driver do not return before the running kernels have ended, on an H100 with driver 580 among them
// loading and unloading code, unpinning memory and making green contexts: one launch of minutes would block all of
// them. Workers can be evicted. So the thread that is about to make such a call requests a drain: the scheduler's
// thread evicts all launches, starts none meanwhile, and continues when no thread needs the drain any more.
//
// Threads that ask before a drain begins share it; later ones get the next one, so that launches run in between. Where
// the GPU is empty a drain begins at once, and wakes no thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/model/units.hpp"

namespace gpushare {

class DrainRequests {
 public:
  /// Holds the drain until the end of the scope, in one thread, unless it is taken back.
  class Drain {
   public:
    Drain() = default;
    Drain(const Drain&) = delete;
    Drain& operator=(const Drain&) = delete;
    ~Drain();
    explicit operator bool() const { return requests_ != nullptr; }

   private:
    friend class DrainRequests;
    Drain(DrainRequests& requests, std::uint64_t taken_back) : requests_(&requests), taken_back_(taken_back) {}

    DrainRequests* requests_ = nullptr;
    std::uint64_t taken_back_ = 0;
  };

  /// After this a request goes on without a drain: also where the scheduler does not respond, because its policy takes
  /// long.
  static constexpr Duration usual_patience{4'000'000'000};

  explicit DrainRequests(Duration patience = usual_patience) : patience_(patience) {}

  /// Returns when the GPU is empty, or the caller has to go on without that. At once in the thread that uses the GPU,
  /// which would wait for itself, and in one that holds a drain already. Not with the GIL, which the former may need.
  [[nodiscard]] Drain ask();

  /// Frees a resource during a drain. The thread that uses the GPU leaves that to the next thread that holds one.
  void free(std::function<void()> action);
  /// Actions that were left to later drains.
  void free_left();

  // For the thread that puts launches on the GPU:

  /// From now on launches may be on the GPU. False, and none may, while a thread holds a drain.
  bool begin_use();
  /// The GPU is empty, or its contents do not matter any more.
  void end_use();
  /// Does a thread wait for a drain?
  bool is_wanted() const { return waiting_.load(std::memory_order_acquire) > 0; }
  /// The present requests go on without a drain: a launch cannot leave, or a call takes too long.
  void take_back();

 private:
  bool is_unused() const { return !is_used_ && !is_awaited_; }
  Drain take_at_once(std::unique_lock<std::mutex> lock);
  bool would_wait_for_itself() const { return (is_used_ || is_awaited_) && user_ == std::this_thread::get_id(); }
  void leave(std::uint64_t taken_back);

  const Duration patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_used_ = false;
  bool is_awaited_ = false;  // by the thread that uses the GPU
  std::thread::id user_;
  std::atomic<int> waiting_ = 0;  // written under the lock, like the next one
  std::atomic<int> having_ = 0;
  std::uint64_t begun_ = 0;  // drains, so far
  std::uint64_t taken_back_ = 0;
  std::vector<std::function<void()>> left_;
};

using Drain = DrainRequests::Drain;

}  // namespace gpushare
