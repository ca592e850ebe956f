// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/solvers/timing.hpp"

#include <algorithm>

namespace gpushare {

/// The first time at which the task could use its first engine and its memory fits: now, or when a task's memory is
/// freed.
std::int64_t Timeline::earliest_fit(const Task& task) const {
  std::int64_t start = task.uplink > Duration::zero() ? front_.uplink : 0;
  const auto held_at = [this](std::int64_t time) {
    std::int64_t bytes = 0;
    for (const HeldMemory& held : held_) bytes += held.until.count() > time ? held.size.count : 0;
    return bytes;
  };
  while (held_at(start) > limit_.count - task.memory.count) {
    std::int64_t next = std::numeric_limits<std::int64_t>::max();
    for (const HeldMemory& held : held_) {
      if (held.until.count() > start) next = std::min(next, held.until.count());
    }
    if (next == std::numeric_limits<std::int64_t>::max()) break;  // larger than the device: refused elsewhere
    start = next;
  }
  return start;
}

Duration Timeline::append(const Task& task) {
  std::int64_t earliest = 0;
  if (limit_ != no_memory_limit) {
    earliest = earliest_fit(task);
    waited_ = waited_ || earliest > (task.uplink > Duration::zero() ? front_.uplink : 0);
  }
  const Duration end(gpushare::append(front_, task, earliest));
  if (limit_ != no_memory_limit && task.memory.count > 0) held_.push_back({end, task.memory});
  return end;
}

Schedule schedule_of(std::span<const Task> tasks, std::span<const int> order, const EnginesState& engines,
                     Bytes memory_limit) {
  Timeline timeline(engines, memory_limit);
  Schedule schedule{.makespan = std::max({engines.uplink, engines.compute, engines.downlink}), .engines = engines};
  for (const int number : order) {
    const Task& task = tasks[static_cast<std::size_t>(number)];
    schedule.ends.push_back(timeline.append(task));
    schedule.makespan = std::max(schedule.makespan, schedule.ends.back());
    schedule.engines.held.push_back({schedule.ends.back(), task.memory});
  }
  schedule.engines.uplink = Duration(timeline.front().uplink);
  schedule.engines.compute = Duration(timeline.front().compute);
  schedule.engines.downlink = Duration(timeline.front().downlink);
  schedule.waited_for_memory = timeline.waited_for_memory();
  return schedule;
}

}  // namespace gpushare
