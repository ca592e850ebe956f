// SPDX-License-Identifier: Apache-2.0
// CuMAS-DP, Algorithm 1: one order for every set of tasks, the cheapest of those that append one task to the stored
// order of the others. It may miss the best order, as the beginning of that one need not be the best order of its
// tasks.
//
// "dp" uses the makespan of the stored order as C(U). "dp-as-printed" adds up Eq. 5 literally, with the task's wait in
// place of the downlink's idle time and with Eq. 2 as printed; it is there for comparison. A task that would have to
// wait for memory is no candidate; if any set is left without a candidate, the answer is the order of arrival.
//
// Suits: up to 12 tasks or so. Fails: beyond, by time and memory, which double with each task.
#include <bit>

#include "core/ordering/solvers/bounds.hpp"
#include "core/ordering/solvers/delay_equations.hpp"

namespace gpushare {
namespace {

constexpr std::size_t most_tasks = 20;
constexpr double none = std::numeric_limits<double>::infinity();

/// The stored order of a set of tasks, by its last task.
struct PartialOrder {
  double cost = none;
  Front front;
  TaskDelays delays;  // as printed
  std::int8_t last = -1;
};

class Tables {
 public:
  Tables(const OrderingProblem& problem, DelayEquations equations)
      : problem_(problem),
        equations_(equations),
        memory_binds_(memory_may_bind(problem)),
        stored_(std::size_t{1} << problem.tasks.size()) {
    stored_[0] = {.cost = 0, .front = front_of(problem.engines)};
    if (problem.objective == Objective::Makespan && equations == DelayEquations::AsCorrected) {
      stored_[0].cost = cost_of(problem, {});
    }
  }

  /// The order of all tasks, or none.
  std::vector<int> order() {
    for (TaskSet tasks = 1; tasks < stored_.size(); ++tasks) fill(tasks);  // subsets have smaller numbers
    const auto all = static_cast<TaskSet>(stored_.size() - 1);
    return stored_[all].cost < none ? order_of(all) : std::vector<int>{};
  }

 private:
  void fill(TaskSet tasks) {
    for (TaskSet left = tasks; left != 0; left &= left - 1) {
      const int last = std::countr_zero(left);
      const PartialOrder& rest = kept_[tasks & ~(TaskSet{1} << last)];
      if (rest.cost == none || (memory_binds_ && !fits(tasks, last))) continue;
      const PartialOrder longer = appended(rest, last);
      if (longer.cost < kept_[tasks].cost) kept_[tasks] = longer;
    }
  }

  bool fits(TaskSet tasks, int last) const {
    std::vector<int> order = order_of(tasks & ~(TaskSet{1} << last));
    order.push_back(last);
    return !schedule_of(problem_.tasks, order, problem_.engines, problem_.memory_limit).waited_for_memory;
  }

  PartialOrder appended(const PartialOrder& rest, int last) const {
    const Task& task = problem_.tasks[static_cast<std::size_t>(last)];
    PartialOrder longer = rest;
    longer.last = static_cast<std::int8_t>(last);
    const auto end = static_cast<double>(append(longer.front, task));
    if (equations_ == DelayEquations::AsPrinted) {
      add_as_printed(longer, rest, task);
    } else if (problem_.objective == Objective::Makespan) {
      longer.cost = std::max(rest.cost, end);
    } else {
      longer.cost = rest.cost + turnaround_weight(problem_, task) * end;
    }
    return longer;
  }

  /// Eq. 5. What the previous window has left counts as a task before the first one.
  void add_as_printed(PartialOrder& longer, const PartialOrder& rest, const Task& task) const {
    const EnginesState& engines = problem_.engines;
    const Task left{.compute = engines.compute - engines.uplink, .downlink = engines.downlink - engines.compute};
    const bool is_first = rest.last < 0;
    const Task& previous = is_first ? left : problem_.tasks[static_cast<std::size_t>(rest.last)];
    longer.delays = next_delays(rest.delays, previous, task);
    longer.cost += nanoseconds(longer.delays.downlink + task.downlink);
    if (is_first) longer.cost += nanoseconds(engines.uplink + task.uplink + longer.delays.compute + task.compute);
  }

  std::vector<int> order_of(TaskSet tasks) const {
    std::vector<int> order(static_cast<std::size_t>(std::popcount(tasks)));
    for (auto place = order.rbegin(); place != order.rend(); ++place) {
      *place = stored_[tasks].last;
      tasks &= ~(TaskSet{1} << *place);
    }
    return order;
  }

  const OrderingProblem& problem_;
  DelayEquations equations_;
  bool memory_binds_;
  std::vector<PartialOrder> kept_;
};

class DynamicProgram : public Solver {
 public:
  explicit DynamicProgram(DelayEquations equations) : equations_(equations) {}

  OrderedTasks order(const OrderingProblem& problem, const SearchLimits& /*limits*/) const override {
    validate(problem, most_tasks);
    std::vector<int> order = Tables(problem, equations_).order();
    if (order.empty()) order = order_of_arrival(problem);
    OrderedTasks answer = evaluated(problem, std::move(order));
    const auto tasks = static_cast<std::int64_t>(problem.tasks.size());
    if (tasks > 0) answer.nodes = tasks << (tasks - 1);  // sets and their members
    return answer;
  }

 private:
  DelayEquations equations_;
};

}  // namespace

std::unique_ptr<Solver> make_dp_solver() { return std::make_unique<DynamicProgram>(DelayEquations::AsCorrected); }

std::unique_ptr<Solver> make_printed_dp_solver() { return std::make_unique<DynamicProgram>(DelayEquations::AsPrinted); }

}  // namespace gpushare
