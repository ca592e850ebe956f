// SPDX-License-Identifier: Apache-2.0
// A thread that flushes now and then, and a last time when the process ends. The thread that ends the process only
// requests that and waits: it may be a signal's handler, on a thread that holds any lock, malloc's or CUDA's included.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace gpushare::recording {

/// Lives as long as the process: its thread is never joined.
class Flusher {
 public:
  /// Calls `flush` each period and, on finish(), `last_flush`; both on a separate thread, which runs no handlers of
  /// the program's signals. Neither may throw. Throws std::system_error where there can be no thread.
  void start(std::chrono::milliseconds period, std::function<void()> flush, std::function<void()> last_flush);

  /// Requests the last flush and waits for it, at most so long; also where another thread has requested it. Does
  /// nothing unless started. Async-signal-safe: takes no lock and no memory.
  void finish(std::chrono::milliseconds patience) noexcept;

 private:
  enum State : std::uint32_t { Idle, Running, Asked, Done };

  void work(std::chrono::milliseconds period, const std::function<void()>& flush,
            const std::function<void()>& last_flush) noexcept;

  std::atomic<std::uint32_t> state_ = Idle;  // A futex.
};

}  // namespace gpushare::recording
