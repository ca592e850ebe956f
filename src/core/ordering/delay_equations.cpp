// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/delay_equations.hpp"

#include <algorithm>

namespace gpushare {
namespace {

Duration clipped(Duration value) { return std::max(value, Duration::zero()); }

}  // namespace

TaskDelays next_delays(const TaskDelays& before, const Task& previous, const Task& task, DelayEquations equations) {
  const Duration lead = before.compute + previous.compute - task.uplink;
  const Duration idle = equations == DelayEquations::AsPrinted ? before.compute : clipped(-lead);
  return {.compute = clipped(lead), .downlink = clipped(before.downlink + previous.downlink - task.compute - idle)};
}

Duration total_time(std::span<const Task> tasks, std::span<const int> order, DelayEquations equations) {
  Duration sent{};
  TaskDelays delays;
  const Task* previous = nullptr;
  for (const int number : order) {
    const Task& task = tasks[static_cast<std::size_t>(number)];
    if (previous != nullptr) delays = next_delays(delays, *previous, task, equations);
    sent += task.uplink;
    previous = &task;
  }
  if (previous == nullptr) return sent;
  return sent + delays.compute + previous->compute + delays.downlink + previous->downlink;
}

}  // namespace gpushare
