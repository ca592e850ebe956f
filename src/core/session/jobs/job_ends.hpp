// SPDX-License-Identifier: Apache-2.0
// Lets threads wait until jobs of a session are over. A waiting thread spins for a moment before it sleeps, since small
// launches take about as long from submission to end as a thread takes to wake up.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "core/model/units.hpp"
#include "core/session/jobs/job_board.hpp"
#include "core/session/spin.hpp"

namespace gpushare {

class JobEnds {
 public:
  /// The mutex is the session's, and guards the board, too. Threads that wait for anything in the session sleep on
  /// `changed`.
  JobEnds(std::mutex& mutex, std::condition_variable& changed, std::size_t most_reasons)
      : mutex_(mutex), changed_(changed), board_(most_reasons) {}

  /// Requires the mutex.
  JobBoard& board() { return board_; }
  const JobBoard& board() const { return board_; }

  // Take the mutex.
  void end(JobId job) {
    change(job, [&] { board_.end(job); });
  }
  void cancel(JobId job, const std::string& reason) {
    change(job, [&] { board_.cancel(job, reason); });
  }

  /// Until the job is over, or `is_given_up` holds, or the time is up. Requires the lock, which it leaves meanwhile.
  template <typename Condition>
  void await(JobId job, Duration timeout, std::unique_lock<std::mutex>& lock, Condition is_given_up) {
    const auto is_over = [&] { return board_.is_over(job) || is_given_up(); };
    if (is_over()) return;
    const auto start = std::chrono::steady_clock::now();
    const Duration longest = std::min(spin_budget().begin_wait(), timeout);
    const bool had_its_way = longest <= Duration{} || spin(longest, lock, is_over);
    board_.await(job);
    changed_.wait_until(lock, start + timeout, is_over);
    board_.await_no_more(job);
    if (had_its_way) spin_budget().end_wait(std::chrono::steady_clock::now() - start);
  }

 private:
  static constexpr Duration longest_spin{150'000};

  /// One for each thread: one may wait for launches of milliseconds all the time, another for small ones.
  static SpinBudget& spin_budget() {
    thread_local SpinBudget budget(most_spin(longest_spin));
    return budget;
  }

  /// A thread that spins occupies a processor, and the session's thread needs one, too.
  static int most_spinning() {
    static const int quarter = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / 4);
    return quarter;
  }

  /// Threads that wait for something else sleep on: to wake them would cost this thread a system call per launch. What
  /// is woken takes the mutex next, so this thread has left it by then.
  template <typename Change>
  void change(JobId job, Change change) {
    bool is_awaited = false;
    {
      const std::scoped_lock lock(mutex_);
      change();
      is_awaited = board_.is_awaited(job);
    }
    ends_.fetch_add(1, std::memory_order_release);
    if (is_awaited) changed_.notify_all();
  }

  /// False: enough other threads spin.
  template <typename Condition>
  bool spin(Duration longest, std::unique_lock<std::mutex>& lock, Condition is_over) {
    if (spinning_ == most_spinning()) return false;
    ++spinning_;
    const auto until = std::chrono::steady_clock::now() + longest;
    bool is_late = false;
    while (!is_over() && !is_late) {
      const std::uint64_t seen = ends_.load(std::memory_order_acquire);
      lock.unlock();
      while (ends_.load(std::memory_order_acquire) == seen && !is_late) {
        relax();
        is_late = std::chrono::steady_clock::now() >= until;
      }
      lock.lock();
    }
    --spinning_;
    return true;
  }

  std::mutex& mutex_;
  std::condition_variable& changed_;
  JobBoard board_;
  std::atomic<std::uint64_t> ends_ = 0;  // so far
  int spinning_ = 0;                     // threads
};

}  // namespace gpushare
