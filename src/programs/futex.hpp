// SPDX-License-Identifier: Apache-2.0
// Waiting for a word in memory that processes share.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace gpushare::programs {

/// Waits until it is woken, the word has another value, or the time is up; it may also return for no reason.
inline void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t at_most_ns) {
  const timespec timeout{.tv_sec = static_cast<time_t>(at_most_ns / 1'000'000'000),
                         .tv_nsec = static_cast<long>(at_most_ns % 1'000'000'000)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

inline void wake_all(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace gpushare::programs
