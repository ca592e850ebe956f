// SPDX-License-Identifier: Apache-2.0
// The last entries of something that goes on for ever, written by one thread and read by others, none of which makes
// the writer wait for long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "core/model/units.hpp"

namespace gpushare {

/// Entries have an `end`, and come in the order of it.
template <typename Entry>
class RecentLog {
 public:
  explicit RecentLog(std::size_t most) : most_(most) {}

  void push(Entry entry) {
    const std::scoped_lock lock(mutex_);
    if (entries_.size() == most_) {
      entries_.pop_front();
      ++first_;
    }
    entries_.push_back(std::move(entry));
  }

  /// Those that ended at `time` or later. What is pushed while they are copied may be among them or not.
  std::vector<Entry> since(Time time) const {
    std::vector<Entry> found;
    std::uint64_t next = first_since(time);
    while (copy_piece(next, found)) {
    }
    return found;
  }

 private:
  static constexpr std::uint64_t piece = 1024;  // some ten microseconds

  std::uint64_t first_since(Time time) const {
    const std::scoped_lock lock(mutex_);
    const auto place = std::ranges::lower_bound(entries_, time, {}, &Entry::end);
    return first_ + static_cast<std::uint64_t>(place - entries_.begin());
  }

  /// False once there is nothing left.
  bool copy_piece(std::uint64_t& next, std::vector<Entry>& found) const {
    const std::scoped_lock lock(mutex_);
    next = std::max(next, first_);
    const std::uint64_t end = std::min(next + piece, first_ + entries_.size());
    for (; next < end; ++next) found.push_back(entries_[next - first_]);
    return next < first_ + entries_.size();
  }

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::uint64_t first_ = 0;  // how many came before entries_
};

}  // namespace gpushare
