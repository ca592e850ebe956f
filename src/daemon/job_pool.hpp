// SPDX-License-Identifier: Apache-2.0
// Places for jobs that the ports of one user share, beyond those that each port has for itself.
#pragma once

#include <cstddef>
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

}  // namespace gpushare::daemon
