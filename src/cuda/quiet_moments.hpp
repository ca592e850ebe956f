// SPDX-License-Identifier: Apache-2.0
// Some calls of the driver do not return before the kernels that run have ended, on an H100 with driver 580 among them
// loading and unloading code, unpinning memory and making green contexts: one launch that takes minutes would hold up
// all of them. Launches as workers can leave. So whoever is about to make such a call asks for a quiet moment: the
// thread that schedules has everything leave, starts nothing meanwhile, and goes on when nobody needs quiet any more.
//
// Those who ask until a moment begins share it; who comes later has the next one, so that launches run in between.
// Where nothing is on the GPU a moment begins at once, and wakes nobody.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/model/units.hpp"

namespace gpushare::cuda {

class QuietMoments {
 public:
  /// Keeps the moment until the end of the scope, in one thread, unless it is taken back.
  class Quiet {
   public:
    Quiet() = default;
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
    ~Quiet();
    explicit operator bool() const { return moments_ != nullptr; }

   private:
    friend class QuietMoments;
    Quiet(QuietMoments& moments, std::uint64_t taken_back) : moments_(&moments), taken_back_(taken_back) {}

    QuietMoments* moments_ = nullptr;
    std::uint64_t taken_back_ = 0;
  };

  /// Who asks for longer goes on without: also where the scheduler does not look, because its policy takes so long.
  static constexpr Duration usual_patience{4'000'000'000};

  explicit QuietMoments(Duration patience = usual_patience) : patience_(patience) {}

  /// Returns when nothing is on the GPU, or somebody has to go on without that. At once in the thread that uses the
  /// GPU, which would wait for itself, and in one that has asked already. Not with the GIL, which the former may need.
  [[nodiscard]] Quiet ask();

  /// Frees something in a quiet moment. The thread that uses the GPU leaves that to whoever has the next one.
  void free(std::function<void()> action);
  /// What was left to others.
  void free_left();

  // For the thread that puts launches on the GPU:

  /// From now on something may be on it. False, and nothing may, as long as somebody has a quiet moment.
  bool begin_use();
  /// Nothing is on it any more, or nobody cares for it.
  void end_use();
  /// Does somebody wait for a quiet moment?
  bool is_wanted() const { return waiting_.load(std::memory_order_acquire) > 0; }
  /// Who has asked so far goes on without: a launch cannot leave, or a call takes too long.
  void take_back();

 private:
  bool is_unused() const { return !is_used_ && !is_awaited_; }
  Quiet take_at_once(std::unique_lock<std::mutex> lock);
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
  std::uint64_t begun_ = 0;  // moments, so far
  std::uint64_t taken_back_ = 0;
  std::vector<std::function<void()>> left_;
};

using Quiet = QuietMoments::Quiet;

}  // namespace gpushare::cuda
