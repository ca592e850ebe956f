// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/solvers/flow_tables.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// On one engine of a pair, with the time between the two.
std::int64_t with_lag(const FlowTables& tables, EnginePair pair, Engine engine, int task) {
  const std::int64_t time = tables.on(engine, task);
  return time == 0 ? 0 : time + tables.lag(pair, task);
}

/// Johnson: the tasks that are shorter on the first engine, shortest first; then the others, longest on the second
/// first. A task that does not use the first engine does not wait there, and one that does not use the second delays no
/// other task there.
std::vector<int> johnson_order(const FlowTables& tables, EnginePair pair, std::vector<int> tasks) {
  const auto before = [&](int task) { return with_lag(tables, pair, pair.first, task); };
  const auto after = [&](int task) { return with_lag(tables, pair, pair.second, task); };
  std::ranges::stable_sort(tasks, [&](int a, int b) {
    const bool a_rises = before(a) < after(a);
    const bool b_rises = before(b) < after(b);
    if (a_rises != b_rises) return a_rises;
    return a_rises ? before(a) < before(b) : after(a) > after(b);
  });
  return tasks;
}

}  // namespace

FlowTables::FlowTables(const OrderingProblem& problem) {
  for (const Task& task : problem.tasks) {
    times[uplink].push_back(task.uplink.count());
    times[compute].push_back(task.compute.count());
    times[downlink].push_back(task.downlink.count());
    weight.push_back(turnaround_weight(problem, task));
  }
  const std::vector<int> arrival = order_of_arrival(problem);
  for (std::size_t pair = 0; pair < engine_pairs.size(); ++pair) {
    johnson[pair] = johnson_order(*this, engine_pairs[pair], arrival);
  }
  for (std::size_t engine = 0; engine < engine_count; ++engine) {
    shortest_weighted[engine] = arrival;
    std::ranges::stable_sort(shortest_weighted[engine], {}, [&](int task) {
      return static_cast<double>(times[engine][static_cast<std::size_t>(task)]) /
             weight[static_cast<std::size_t>(task)];
    });
  }
}

}  // namespace gpushare
