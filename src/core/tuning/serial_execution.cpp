// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/serial_execution.hpp"

#include <algorithm>
#include <utility>

#include "core/tuning/tuning.hpp"

namespace gpushare {
namespace {

double sum_alone(const CoSchedule& schedule) {
  double sum = 0;
  for (const CoRunSlot& slot : schedule.slots) sum += slot.alone;
  return sum;
}

double sum_of_weights(const CoSchedule& schedule) {
  double sum = 0;
  for (const CoRunSlot& slot : schedule.slots) sum += slot.contender.weight;
  return sum;
}

/// Weights are 1 in the mean.
double weight(const CoRunSlot& slot, const CoSchedule& schedule) {
  return slot.contender.weight / sum_of_weights(schedule) * static_cast<double>(schedule.slots.size());
}

}  // namespace

std::vector<OperationId> serial_order(const CoSchedule& schedule, const RemainingTime& remaining, const State& state) {
  struct Candidate {
    OperationId launch;
    double cost;
    Time arrival;
  };
  const double switch_cost = nanoseconds(state.device().tuning.switch_cost);
  const double round = sum_alone(schedule);
  std::vector<Candidate> candidates;
  for (const CoRunSlot& slot : schedule.slots) {
    if (!slot.running) continue;
    const RunningLaunch& launch = *state.find(*slot.running);
    const double left = nanoseconds(remaining.of(launch, state).value_or(Duration{}));
    const bool has_waited_out = nanoseconds(state.now() - launch.arrival) > round;
    const double cost = launch.started > 0 ? Tuning::preemption_threshold * left : left + switch_cost;
    candidates.push_back({launch.id, has_waited_out ? 0 : cost, launch.arrival});
  }
  std::ranges::stable_sort(candidates, {}, [](const Candidate& each) { return std::pair(each.cost, each.arrival); });
  std::vector<OperationId> order;
  for (const Candidate& each : candidates) order.push_back(each.launch);
  return order;
}

std::vector<OperationId> order_of_arrival(const CoSchedule& schedule, const State& state) {
  std::vector<OperationId> order;
  for (const CoRunSlot& slot : schedule.slots) {
    if (slot.running) order.push_back(*slot.running);
  }
  std::ranges::sort(order, {}, [&state](OperationId id) { return std::pair(state.find(id)->arrival, id); });
  return order;
}

double serial_throughput(const CoSchedule& schedule, const LaunchGaps& gaps, const Device& device) {
  const double round = sum_alone(schedule);
  double throughput = 0;
  for (const CoRunSlot& slot : schedule.slots) {
    const double hidden = std::min(gaps.of(slot.application, device), round - slot.alone);
    throughput += weight(slot, schedule) * (slot.alone + hidden) / round;
  }
  return throughput;
}

double co_run_throughput(const CoSchedule& schedule, const std::vector<double>& speeds, const LaunchGaps& gaps,
                         const Device& device) {
  double throughput = 0;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const CoRunSlot& slot = schedule.slots[i];
    const double gap = gaps.of(slot.application, device);
    throughput += weight(slot, schedule) * (slot.alone + gap) / (slot.alone / speeds[i] + gap);
  }
  return throughput;
}

double measured_throughput(const CoSchedule& schedule, const std::vector<double>& speeds, const LaunchGaps& gaps,
                           const Device& device) {
  double throughput = 0;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const CoRunSlot& slot = schedule.slots[i];
    throughput += weight(slot, schedule) * speeds[i] * (1 + gaps.of(slot.application, device) / slot.alone);
  }
  return throughput;
}

double serial_antt(const CoSchedule& schedule) {
  std::vector<double> times;
  for (const CoRunSlot& slot : schedule.slots) times.push_back(slot.alone);
  std::ranges::sort(times);
  double end = 0;
  double sum = 0;
  for (const double time : times) {
    end += time;
    sum += end / time;
  }
  return sum / static_cast<double>(times.size());
}

bool may_run_serially(const CoScheduler& scheduler) {
  const CoSchedule& schedule = scheduler.schedule();
  return schedule.slots.size() > 1 && can_run_serially(schedule) && !scheduler.estimate().speeds.empty();
}

bool serial_is_better(const CoScheduler& scheduler, const LaunchGaps& gaps, const Device& device, bool are_whole,
                      double antt) {
  const CoSchedule& schedule = scheduler.schedule();
  const SpeedEstimate& side_by_side = scheduler.estimate();
  const double slowdown = serial_antt(schedule);
  if (side_by_side.antt > antt || slowdown > antt) return slowdown < side_by_side.antt;
  if (are_whole) return side_by_side.throughput < device.tuning.gain_of_serial_whole;
  const auto throughput = scheduler.has_measured() ? measured_throughput : co_run_throughput;
  const double gain =
      scheduler.is_conservative(device) ? device.tuning.gain_of_doubtful_co_running : Tuning::gain_of_co_running;
  return throughput(schedule, side_by_side.speeds, gaps, device) < gain * serial_throughput(schedule, gaps, device);
}

}  // namespace gpushare
