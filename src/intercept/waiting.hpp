// SPDX-License-Identifier: Apache-2.0
// Waiting for words of this and of other processes. Only by system calls that are no cancellation points.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "programs/futex.hpp"

namespace gpushare::intercept {

using programs::wait_while;
using programs::wake_all;

/// On CLOCK_MONOTONIC.
inline std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

inline timespec time_of(std::uint64_t ns) {
  return {.tv_sec = static_cast<time_t>(ns / 1'000'000'000), .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
}

inline void sleep_ns(std::uint64_t ns) {
  const timespec time = time_of(ns);
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr);
}

inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A lock for rare and short sections. A forked process unlocks it: the thread that held it is in the parent.
class Lock {
 public:
  bool try_lock() { return !is_taken_.exchange(true, std::memory_order_acquire); }
  void lock() {
    while (!try_lock()) sched_yield();
  }
  void unlock() { is_taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_taken_ = false;
};

}  // namespace gpushare::intercept
