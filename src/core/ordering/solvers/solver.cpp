// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/solvers/solver.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "core/model/errors.hpp"
#include "core/ordering/solvers/bounds.hpp"

namespace gpushare {
namespace {

std::string named(std::size_t number) { return "task " + std::to_string(number); }

/// The time that all tasks take together: no sum in a solver can be longer.
class TimeSum {
 public:
  void add(Duration time) {
    constexpr Duration most = latest_time - Time{};
    require(time <= most - sum_, "these tasks take more than 200 years together");
    sum_ += time;
  }

 private:
  Duration sum_{};
};

void validate(const EnginesState& engines, TimeSum& sum) {
  const Duration soonest = std::min({engines.uplink, engines.compute, engines.downlink});
  require(soonest >= Duration::zero(),
          "an engine is free from a time in 0.. ns on, got " + std::to_string(soonest.count()) + " ns: 0 is now");
  sum.add(std::max({engines.uplink, engines.compute, engines.downlink}));
}

}  // namespace

void validate(const OrderingProblem& problem, std::size_t most_tasks) {
  require(problem.tasks.size() <= most_tasks, "this solver takes at most " + std::to_string(most_tasks) +
                                                  " tasks, got " + std::to_string(problem.tasks.size()));
  TimeSum sum;
  validate(problem.engines, sum);
  for (std::size_t number = 0; number < problem.tasks.size(); ++number) {
    const Task& task = problem.tasks[number];
    const Duration shortest = std::min({task.uplink, task.compute, task.downlink});
    require(shortest >= Duration::zero(),
            named(number) + ": a duration must not be negative, got " + std::to_string(shortest.count()) + " ns");
    for (const Duration time : {task.uplink, task.compute, task.downlink}) sum.add(time);
    require(std::isfinite(task.weight) && task.weight > 0,
            named(number) + ": weight must be a positive number, got " + std::to_string(task.weight));
    require(task.memory.count >= 0, named(number) + ": memory must not be negative");
    require(task.memory <= problem.memory_limit, named(number) + " needs " + std::to_string(task.memory.count) +
                                                     " bytes, more than the device's " +
                                                     std::to_string(problem.memory_limit.count));
  }
}

double cost_of(const OrderingProblem& problem, std::span<const int> order) {
  Timeline timeline(problem.engines, problem.memory_limit);
  Duration latest = std::max({problem.engines.uplink, problem.engines.compute, problem.engines.downlink});
  double sum = 0;
  for (const int number : order) {
    const Task& task = problem.tasks[static_cast<std::size_t>(number)];
    const Duration end = timeline.append(task);
    latest = std::max(latest, end);
    sum += turnaround_weight(problem, task) * nanoseconds(end);
  }
  return problem.objective == Objective::Makespan ? nanoseconds(latest) : sum / turnaround_divisor(problem);
}

OrderedTasks evaluated(const OrderingProblem& problem, std::vector<int> order) {
  OrderedTasks answer{.order = std::move(order)};
  answer.cost_ns = cost_of(problem, answer.order);
  answer.lower_bound_ns = std::min(lower_bound(problem), answer.cost_ns);
  return answer;
}

std::vector<int> order_of_arrival(const OrderingProblem& problem) {
  std::vector<int> order(problem.tasks.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool memory_may_bind(const OrderingProblem& problem) {
  if (problem.memory_limit == no_memory_limit) return false;
  double bytes = 0;
  for (const HeldMemory& held : problem.engines.held) bytes += static_cast<double>(held.size.count);
  for (const Task& task : problem.tasks) bytes += static_cast<double>(task.memory.count);
  return bytes > static_cast<double>(problem.memory_limit.count);
}

double turnaround_divisor(const OrderingProblem& problem) {
  double sum = 0;
  for (const Task& task : problem.tasks) sum += turnaround_weight(problem, task);
  return std::max(sum, std::numeric_limits<double>::min());
}

}  // namespace gpushare
