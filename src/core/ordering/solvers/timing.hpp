// SPDX-License-Identifier: Apache-2.0
// When the tasks of an order run, by stepping through it: three engines (copies to the device, SMs, copies to the
// host), each of which serves the tasks in this order, one at a time. A task that does not use an engine does not wait
// for it: one of kernels alone begins when those of the tasks before it have ended, whatever these copy, and one that
// uses none ends at once. Solvers, total_time() and runs mean the same. A task's first operation waits until its memory
// fits beside what the tasks before it still hold.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "core/ordering/solvers/task.hpp"

namespace gpushare {

/// Memory that is in use until `until`.
struct HeldMemory {
  Duration until{};
  Bytes size;
};

/// The remains of the previous window, relative to now: when each engine is free, and which memory is still in use.
struct EnginesState {
  Duration uplink{};
  Duration compute{};
  Duration downlink{};
  std::vector<HeldMemory> held{};
};

constexpr Bytes no_memory_limit{std::numeric_limits<std::int64_t>::max()};

/// When each engine is free, and when the latest task ended, in nanoseconds.
struct Front {
  std::int64_t uplink = 0;
  std::int64_t compute = 0;
  std::int64_t downlink = 0;
};

inline Front front_of(const EnginesState& engines) {
  return {engines.uplink.count(), engines.compute.count(), engines.downlink.count()};
}

/// Appends a task whose first operation starts at `earliest` or later; returns when it ends.
inline std::int64_t append(Front& front, const Task& task, std::int64_t earliest = 0) {
  std::int64_t ready = earliest;
  const auto use = [&ready](std::int64_t& engine, Duration time) {
    if (time == Duration::zero()) return;
    engine = std::max(engine, ready) + time.count();
    ready = engine;
  };
  use(front.uplink, task.uplink);
  use(front.compute, task.compute);
  use(front.downlink, task.downlink);
  return ready;
}

/// Tasks one after the other on the engines, under a limit of memory.
class Timeline {
 public:
  Timeline(const EnginesState& engines, Bytes memory_limit)
      : front_(front_of(engines)), held_(engines.held), limit_(memory_limit) {}

  /// Returns when the task ends, seen from now.
  Duration append(const Task& task);
  const Front& front() const { return front_; }
  /// Has a task waited because its memory did not fit?
  bool waited_for_memory() const { return waited_; }

 private:
  std::int64_t earliest_fit(const Task& task) const;

  Front front_;
  std::vector<HeldMemory> held_;
  Bytes limit_;
  bool waited_ = false;
};

/// An order in times.
struct Schedule {
  std::vector<Duration> ends;  ///< of the tasks, in the order's order
  Duration makespan{};         ///< when all of them have ended, and no engine is in use any more
  EnginesState engines;        ///< the engines after it, relative to now
  bool waited_for_memory = false;
};

Schedule schedule_of(std::span<const Task> tasks, std::span<const int> order, const EnginesState& engines = {},
                     Bytes memory_limit = no_memory_limit);

}  // namespace gpushare
