// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/solvers/bounds.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace gpushare {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// Calls visit(task) for every task of the set.
template <class Visit>
void for_each(TaskSet tasks, Visit visit) {
  for (; tasks != 0; tasks &= tasks - 1) visit(std::countr_zero(tasks));
}

/// By engine: the first time when one of the tasks can use it, and how long the schedule continues after the last use.
struct Margins {
  EngineTimes head{never, never, never};
  EngineTimes tail{never, never, never};
  EngineTimes work{};

  Margins(const FlowTables& tables, TaskSet tasks, const EngineTimes& before, const EngineTimes& behind) {
    for_each(tasks, [&](int task) { add(tables, task, before, behind); });
    for (std::size_t engine = 0; engine < engine_count; ++engine) {
      head[engine] = head[engine] == never ? before[engine] : std::max(before[engine], head[engine]);
      tail[engine] = tail[engine] == never ? behind[engine] : std::max(behind[engine], tail[engine]);
    }
  }

 private:
  void add(const FlowTables& tables, int task, const EngineTimes& before, const EngineTimes& behind) {
    std::int64_t ready = 0;
    for (const Engine engine : {uplink, compute, downlink}) {
      const std::int64_t time = tables.on(engine, task);
      if (time == 0) continue;
      head[engine] = std::min(head[engine], ready);
      ready = std::max(before[engine], ready) + time;
      work[engine] += time;
    }
    std::int64_t left = 0;
    for (const Engine engine : {downlink, compute, uplink}) {
      const std::int64_t time = tables.on(engine, task);
      if (time == 0) continue;
      tail[engine] = std::min(tail[engine], left);
      left = std::max(behind[engine], left) + time;
    }
  }
};

std::int64_t bound_of(const Margins& margins) {
  std::int64_t bound = 0;
  for (std::size_t engine = 0; engine < engine_count; ++engine) {
    bound = std::max(bound, margins.head[engine] + margins.work[engine] + margins.tail[engine]);
  }
  return bound;
}

/// The tasks on two engines, in Johnson's order. A task that does not use the first one is not delayed by it.
std::int64_t pair_bound(const FlowTables& tables, std::size_t number, TaskSet tasks, const Margins& margins) {
  const EnginePair pair = engine_pairs[number];
  std::int64_t first = margins.head[pair.first];
  std::int64_t second = margins.head[pair.second];
  for (const int task : tables.johnson[number]) {
    if ((tasks >> task & 1) == 0) continue;
    const std::int64_t before = tables.on(pair.first, task);
    const std::int64_t after = tables.on(pair.second, task);
    first += before;
    if (after == 0) continue;
    if (before > 0) second = std::max(second, first + tables.lag(pair, task));
    second += after;
  }
  return second + margins.tail[pair.second];
}

}  // namespace

void append(EngineTimes& head, const FlowTables& tables, int task) {
  std::int64_t ready = 0;
  for (const Engine engine : {uplink, compute, downlink}) {
    const std::int64_t time = tables.on(engine, task);
    if (time > 0) ready = head[engine] = std::max(head[engine], ready) + time;
  }
}

void prepend(EngineTimes& tail, const FlowTables& tables, int task) {
  std::int64_t left = 0;
  for (const Engine engine : {downlink, compute, uplink}) {
    const std::int64_t time = tables.on(engine, task);
    if (time > 0) left = tail[engine] = std::max(tail[engine], left) + time;
  }
}

std::int64_t single_engine_bound(const FlowTables& tables, TaskSet tasks, const EngineTimes& head,
                                 const EngineTimes& tail) {
  return bound_of(Margins(tables, tasks, head, tail));
}

std::int64_t makespan_bound(const FlowTables& tables, TaskSet tasks, const EngineTimes& head, const EngineTimes& tail) {
  const Margins margins(tables, tasks, head, tail);
  std::int64_t bound = bound_of(margins);
  for (std::size_t pair = 0; pair < engine_pairs.size(); ++pair) {
    bound = std::max(bound, pair_bound(tables, pair, tasks, margins));
  }
  return bound;
}

double turnaround_bound(const FlowTables& tables, TaskSet tasks, const EngineTimes& head) {
  const Margins margins(tables, tasks, head, {});
  double bound = 0;
  for (std::size_t engine = 0; engine < engine_count; ++engine) {
    std::int64_t free = margins.head[engine];
    double sum = 0;
    for (const int task : tables.shortest_weighted[engine]) {
      if ((tasks >> task & 1) == 0) continue;
      std::int64_t end = 0;
      if (tables.on(static_cast<Engine>(engine), task) > 0) end = free += tables.on(static_cast<Engine>(engine), task);
      for (std::size_t later = engine + 1; later < engine_count; ++later) {
        if (end > 0) end += tables.on(static_cast<Engine>(later), task);
      }
      EngineTimes alone = head;
      append(alone, tables, task);
      const std::int64_t soonest = tables.on(downlink, task) > 0  ? alone[downlink]
                                   : tables.on(compute, task) > 0 ? alone[compute]
                                   : tables.on(uplink, task) > 0  ? alone[uplink]
                                                                  : 0;
      sum += tables.weight[static_cast<std::size_t>(task)] * static_cast<double>(end > 0 ? end : soonest);
    }
    bound = std::max(bound, sum);
  }
  return bound;
}

double lower_bound(const OrderingProblem& problem) {
  const FlowTables tables(problem);
  const EngineTimes head = times_of(front_of(problem.engines));
  if (problem.objective == Objective::Makespan) {
    return static_cast<double>(makespan_bound(tables, tables.all(), head, {}));
  }
  return turnaround_bound(tables, tables.all(), head) / turnaround_divisor(problem);
}

}  // namespace gpushare
