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

/// The earliest of a fixed number of moving deadlines: a tournament tree, one path of comparisons per change. Which of
/// two is earlier is as random as the deadlines are, so no processor predicts it: the choice is an offset, not a
/// branch.
class EarliestOf {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  explicit EarliestOf(std::size_t count) {
    while (leaves_ < count) leaves_ *= 2;
    nodes_.resize(2 * leaves_);
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf) nodes_[leaves_ + leaf].position = leaf;
    rebuild();
  }

  void set(std::size_t position, double time) {
    set_later(position, time);
    for (std::size_t node = (leaves_ + position) / 2; node > 0; node /= 2) nodes_[node] = earlier_below(node);
  }

  /// set() without the comparisons, for many changes at once; rebuild() makes up for them.
  void set_later(std::size_t position, double time) { nodes_[leaves_ + position].time = time; }
  void rebuild() {
    for (std::size_t node = leaves_ - 1; node > 0; --node) nodes_[node] = earlier_below(node);
  }

  std::size_t position() const { return nodes_[1].position; }
  double time() const { return nodes_[1].time; }

 private:
  struct Node {
    double time = never;
    std::size_t position = 0;
  };

  const Node& earlier_below(std::size_t node) const {
    const Node* const first = &nodes_[2 * node];
    return first[static_cast<std::size_t>(first[1].time < first[0].time)];
  }

  std::size_t leaves_ = 2;
  std::vector<Node> nodes_;  // the root is 1, and the leaves are the last
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
