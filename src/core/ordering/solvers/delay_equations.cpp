// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/solvers/delay_equations.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/model/errors.hpp"
#include "core/ordering/solvers/solver.hpp"

namespace gpushare {
namespace {

Duration clipped(Duration value) { return std::max(value, Duration::zero()); }

void require_order(std::span<const int> order, std::size_t tasks) {
  std::vector<bool> seen(tasks);
  for (const int number : order) {
    const bool is_there = number >= 0 && static_cast<std::size_t>(number) < tasks;
    require(is_there, "the order names task " + std::to_string(number) + ", but there are " + std::to_string(tasks) +
                          ": positions begin at 0");
    require(!seen[static_cast<std::size_t>(number)], "the order names task " + std::to_string(number) + " twice");
    seen[static_cast<std::size_t>(number)] = true;
  }
}

Duration total_time_as_printed(std::span<const Task> tasks, std::span<const int> order) {
  Duration sent{};
  TaskDelays delays;
  const Task* previous = nullptr;
  for (const int number : order) {
    const Task& task = tasks[static_cast<std::size_t>(number)];
    if (previous != nullptr) delays = next_delays(delays, *previous, task);
    sent += task.uplink;
    previous = &task;
  }
  if (previous == nullptr) return sent;
  return sent + delays.compute + previous->compute + delays.downlink + previous->downlink;
}

}  // namespace

TaskDelays next_delays(const TaskDelays& before, const Task& previous, const Task& task) {
  return {.compute = clipped(before.compute + previous.compute - task.uplink),
          .downlink = clipped(before.downlink + previous.downlink - task.compute - before.compute)};
}

Duration total_time(std::span<const Task> tasks, std::span<const int> order, DelayEquations equations) {
  validate({.tasks = tasks}, tasks.size());
  require_order(order, tasks.size());
  if (equations == DelayEquations::AsPrinted) return total_time_as_printed(tasks, order);
  return schedule_of(tasks, order).makespan;
}

}  // namespace gpushare
