// SPDX-License-Identifier: Apache-2.0
// The two queues of the simulator: one next completion per SM, which moves whenever rates change, and timers, which
// do not. Ties are broken by index and by order of insertion, so that a run is reproducible.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace gpushare {

/// The earliest of a fixed number of moving deadlines: a tournament tree, one path of comparisons per change.
class EarliestOf {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  explicit EarliestOf(std::size_t count) {
    while (leaves_ < count) leaves_ *= 2;
    times_.resize(leaves_, never);
    winner_.resize(2 * leaves_);
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf) winner_[leaves_ + leaf] = leaf;
    rebuild();
  }

  void set(std::size_t position, double time) {
    times_[position] = time;
    for (std::size_t node = (leaves_ + position) / 2; node > 0; node /= 2) winner_[node] = winner_of(node);
  }

  /// set() without the comparisons, for many changes at once; rebuild() makes up for them.
  void set_later(std::size_t position, double time) { times_[position] = time; }
  void rebuild() {
    for (std::size_t node = leaves_ - 1; node > 0; --node) winner_[node] = winner_of(node);
  }

  std::size_t position() const { return winner_[1]; }
  double time() const { return times_[winner_[1]]; }

 private:
  std::size_t winner_of(std::size_t node) const {
    const std::size_t left = winner_[2 * node];
    const std::size_t right = winner_[2 * node + 1];
    return times_[right] < times_[left] ? right : left;
  }

  std::size_t leaves_ = 2;
  std::vector<double> times_;
  std::vector<std::size_t> winner_;
};

/// Things to do at fixed times, first in first out at equal times.
template <typename Task>
class TimerQueue {
 public:
  void add(double time, Task task) { timers_.push({time, sequence_++, std::move(task)}); }
  double time() const { return timers_.empty() ? EarliestOf::never : timers_.top().time; }
  Task take() {
    Task task = timers_.top().task;
    timers_.pop();
    return task;
  }

 private:
  struct Timer {
    double time;
    std::size_t sequence;
    Task task;
    bool operator<(const Timer& other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };
  std::priority_queue<Timer> timers_;
  std::size_t sequence_ = 0;
};

}  // namespace gpushare
