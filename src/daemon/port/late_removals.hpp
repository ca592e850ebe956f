// SPDX-License-Identifier: Apache-2.0
// How far a client's commands have been read, and the entries of its tables that go at a command which has not: control
// messages may overtake commands.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/model/errors.hpp"

namespace gpushare::daemon {

class LateRemovals {
 public:
  /// Takes the entry out of its table. Throws InvalidInput where it is not there.
  using TakeEntry = std::function<std::shared_ptr<const void>()>;

  /// So many may wait.
  explicit LateRemovals(std::size_t most) : most_(most) {}

  // The number of the job that was read last. One thread writes it, and any may ask.
  void set_last_job(std::uint64_t job) { last_job_.store(job, std::memory_order_release); }
  std::uint64_t last_job() const { return last_job_.load(std::memory_order_acquire); }

  // The rest requires one lock.
  bool empty() const { return waiting_.empty(); }
  bool is_any_due() const { return !empty() && waiting_.begin()->first <= last_job(); }

  /// The entry goes once this job has been read, which it has not. Throws InvalidInput where too many wait.
  void add(std::uint64_t job, TakeEntry take) {
    require_lazily(waiting_.size() < most_, [&] {
      return std::to_string(waiting_.size()) +
             " freed arrays, kernels and applications wait for commands that have not come";
    });
    waiting_.emplace(job, std::move(take));
  }

  /// Removes those that are due, and returns them: destructors may run any code, without the lock.
  std::vector<std::shared_ptr<const void>> take_due() {
    std::vector<std::shared_ptr<const void>> gone;
    const auto end = waiting_.upper_bound(last_job());
    for (auto each = waiting_.begin(); each != end; each = waiting_.erase(each)) {
      try {
        gone.push_back(each->second());
      } catch (const InvalidInput&) {  // freed twice, or never there: there is no command to answer
      }
    }
    return gone;
  }

 private:
  const std::size_t most_;
  std::atomic<std::uint64_t> last_job_ = 0;
  std::multimap<std::uint64_t, TakeEntry> waiting_;  // by the job
};

}  // namespace gpushare::daemon
