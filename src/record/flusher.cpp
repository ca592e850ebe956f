// SPDX-License-Identifier: Apache-2.0
#include "record/flusher.hpp"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <system_error>
#include <thread>
#include <utility>

namespace gpushare::recording {
namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == sizeof(std::uint32_t), "a futex is a plain word");

/// std::condition_variable needs a lock, and std::atomic cannot wait for so long only.
void wait_while(const Word& word, std::uint32_t value, std::chrono::nanoseconds at_most) {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(at_most.count() / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(at_most.count() % 1'000'000'000);
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &limit, nullptr, 0);
}

void wake_all(const Word& word) { syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }

std::chrono::nanoseconds monotonic_time() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Blocks the program's signals, which are for its threads.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

void Flusher::start(std::chrono::milliseconds period, std::function<void()> flush, std::function<void()> last_flush) {
  const NoSignals blocked;
  state_ = Running;
  try {
    std::thread([this, period, flush = std::move(flush), last_flush = std::move(last_flush)] {
      work(period, flush, last_flush);
    }).detach();
  } catch (const std::system_error&) {
    state_ = Idle;
    throw;
  }
}

void Flusher::work(std::chrono::milliseconds period, const std::function<void()>& flush,
                   const std::function<void()>& last_flush) noexcept {
  while (true) {
    wait_while(state_, Running, period);
    if (state_ != Running) break;
    flush();
  }
  last_flush();
  state_ = Done;
  wake_all(state_);
}

void Flusher::finish(std::chrono::milliseconds patience) noexcept {
  std::uint32_t state = Running;
  if (state_.compare_exchange_strong(state, Asked)) {
    wake_all(state_);
    state = Asked;
  }
  const std::chrono::nanoseconds until = monotonic_time() + patience;
  for (; state == Asked; state = state_) {
    const std::chrono::nanoseconds left = until - monotonic_time();
    if (left <= std::chrono::nanoseconds::zero()) return;
    wait_while(state_, Asked, left);
  }
}

}  // namespace gpushare::recording
