// SPDX-License-Identifier: Apache-2.0
// Places for jobs that the ports of one user share, beyond those that each port has for itself.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace gpushare::daemon {

/// Any thread may use it.
class JobPool {
 public:
  explicit JobPool(std::size_t places) : free_(places) {}

  /// Takes a place. False: none is free, and the next give_back() says so.
  bool take() {
    const std::lock_guard lock(mutex_);
    if (free_ == 0) {
      is_awaited_ = true;
      return false;
    }
    --free_;
    return true;
  }

  /// True: a port could not take a place since the last time, and has to be served again.
  bool give_back(std::size_t places) {
    const std::lock_guard lock(mutex_);
    free_ += places;
    return std::exchange(is_awaited_, false);
  }

  std::size_t free() const {
    const std::lock_guard lock(mutex_);
    return free_;
  }

 private:
  mutable std::mutex mutex_;
  std::size_t free_;
  bool is_awaited_ = false;
};

/// The jobs that one port may have: some of its own, those beyond with places of the pool, and a limit to all.
class JobPlaces {
 public:
  /// `pool`: nullptr: no job needs one.
  JobPlaces(std::size_t most, std::size_t own, std::shared_ptr<JobPool> pool)
      : most_(most), own_(own), pool_(std::move(pool)) {}

  /// May the port, which has so many jobs, have another one? Takes a place for it where one is needed.
  bool allow_one_more(std::size_t jobs) {
    is_stalled_ = jobs >= most_ || !take(jobs + 1);
    return !is_stalled_;
  }
  /// The last answer was no: commands may wait although the server sleeps.
  bool is_stalled() const { return is_stalled_; }
  /// Something has changed. Was it stalled?
  bool resume() { return std::exchange(is_stalled_, false); }

  /// Gives places back that so many jobs do not need. True: another port waits for one, and has to be served again.
  bool give_back(std::size_t jobs) {
    const std::size_t needed = jobs > own_ ? jobs - own_ : 0;
    if (taken_ <= needed) return false;
    return pool_->give_back(std::exchange(taken_, needed) - needed);
  }

 private:
  bool take(std::size_t jobs) {
    if (pool_ == nullptr) return true;
    for (; own_ + taken_ < jobs; ++taken_) {
      if (!pool_->take()) return false;
    }
    return true;
  }

  const std::size_t most_;
  const std::size_t own_;
  std::shared_ptr<JobPool> pool_;
  std::size_t taken_ = 0;  // from the pool
  bool is_stalled_ = false;
};

}  // namespace gpushare::daemon
