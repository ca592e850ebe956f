// SPDX-License-Identifier: Apache-2.0
// Solvers find an order of tasks; they differ in their running time and in the quality of the order.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/ordering/solvers/timing.hpp"

namespace gpushare {

enum class Objective { Makespan, MeanTurnaround, WeightedTurnaround };

/// A window's tasks, in order of arrival, and the state in which they start.
struct OrderingProblem {
  std::span<const Task> tasks{};
  EnginesState engines{};
  Bytes memory_limit = no_memory_limit;
  Objective objective = Objective::Makespan;
};

/// When a search stops and answers with the best order so far. Solvers read no clock: a limit in time is the caller's.
struct SearchLimits {
  std::int64_t nodes = 1'000'000;  ///< tasks appended to partial orders
  std::function<bool()> stop{};    ///< asked every few hundred nodes; empty: never
};

struct OrderedTasks {
  std::vector<int> order;     ///< positions in the problem's tasks
  double cost_ns = 0;         ///< the objective's value: makespan, or turnaround (from now) per task or per weight
  double lower_bound_ns = 0;  ///< no order costs less; equal to the cost where the order is proven best
  std::int64_t nodes = 0;     ///< tasks appended to partial orders on the way

  bool is_proven_best() const { return lower_bound_ns >= cost_ns; }
};

class Solver {
 public:
  virtual ~Solver() = default;
  /// An order of all tasks. Its cost counts the waits for memory, if there are any. Equal answers are the first found,
  /// so the same problem and limits in nodes give the same order. Throws InvalidInput for what validate() refuses, and
  /// for more tasks than the solver can take.
  virtual OrderedTasks order(const OrderingProblem& problem, const SearchLimits& limits) const = 0;
  /// Does the order depend on the objective?
  virtual bool heeds_objective() const { return true; }
};

constexpr std::size_t most_tasks_in_window = 32;

/// Throws InvalidInput for a negative duration, more than 200 years of them together, a weight that is not positive, a
/// task that alone exceeds the memory, and more than `most_tasks` tasks.
void validate(const OrderingProblem& problem, std::size_t most_tasks = most_tasks_in_window);

/// The objective's value for this order, in nanoseconds.
double cost_of(const OrderingProblem& problem, std::span<const int> order);

/// The order with its cost, and with what no order can cost less than.
OrderedTasks evaluated(const OrderingProblem& problem, std::vector<int> order);

/// 0, 1, 2, ...
std::vector<int> order_of_arrival(const OrderingProblem& problem);

/// Can the memory ever make a task wait, whatever the order?
bool memory_may_bind(const OrderingProblem& problem);

/// One task's contribution to the sum that the objective minimises, and the divisor of that sum (makespan: the
/// maximum).
inline double turnaround_weight(const OrderingProblem& problem, const Task& task) {
  return problem.objective == Objective::WeightedTurnaround ? task.weight : 1;
}
double turnaround_divisor(const OrderingProblem& problem);

}  // namespace gpushare
