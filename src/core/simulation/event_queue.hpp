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

  explicit EarliestOf(std::size_t count) : times_(count, never) {
    while (leaves_ < count) leaves_ *= 2;
    winner_.resize(2 * leaves_);
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf) winner_[leaves_ + leaf] = leaf;
    for (std::size_t node = leaves_ - 1; node > 0; --node) winner_[node] = better(winner_[2 * node], winner_[2 * node + 1]);
  }

  void set(std::size_t position, double time) {
    times_[position] = time;
    for (std::size_t node = (leaves_ + position) / 2; node > 0; node /= 2) {
      winner_[node] = better(winner_[2 * node], winner_[2 * node + 1]);
    }
  }

  std::size_t position() const { return winner_[1]; }
  double time() const { return time_of(winner_[1]); }

 private:
  double time_of(std::size_t position) const { return position < times_.size() ? times_[position] : never; }
  std::size_t better(std::size_t left, std::size_t right) const { return time_of(right) < time_of(left) ? right : left; }

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
