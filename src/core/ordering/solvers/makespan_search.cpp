// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/solvers/makespan_search.hpp"

#include <algorithm>
#include <bit>

#include "core/ordering/solvers/bounds.hpp"
#include "core/ordering/solvers/search_budget.hpp"

namespace gpushare {
namespace {

/// A task fixed at one end of what is still open.
struct MakespanChild {
  int task = 0;
  std::int64_t bound = 0;
  EngineTimes times{};  // of the end at which it is fixed
};

/// The children of a node on one side.
struct Side {
  std::array<MakespanChild, most_tasks_in_window> children;
  int open = 0;          // children that may be better than the best order
  std::int64_t sum = 0;  // of their bounds
  void add(const MakespanChild& child) { children[static_cast<std::size_t>(open++)] = child, sum += child.bound; }
  std::span<MakespanChild> all() { return {children.data(), static_cast<std::size_t>(open)}; }
};

class MakespanSearch {
 public:
  MakespanSearch(const FlowTables& tables, const SearchLimits& limits, std::vector<int> start, std::int64_t cost)
      : tables_(tables), budget_(limits), order_(start), best_(std::move(start)), best_cost_(cost) {}

  OrderedTasks run(const EngineTimes& head) {
    const std::int64_t bound = makespan_bound(tables_, tables_.all(), head, {});
    if (bound < best_cost_) explore(tables_.all(), head, {}, 0);
    const std::int64_t proven = budget_.ended() ? std::max(bound, std::min(least_open_, best_cost_)) : best_cost_;
    return {.order = best_,
            .cost_ns = static_cast<double>(best_cost_),
            .lower_bound_ns = static_cast<double>(proven),
            .nodes = budget_.nodes()};
  }

 private:
  /// `fixed` tasks stand before the open ones.
  void explore(TaskSet open, const EngineTimes& head, const EngineTimes& tail, std::size_t fixed) {
    if (std::popcount(open) <= 1) return finish(open, head, tail, fixed);
    Side front;
    Side back;
    bound_children(open, head, tail, front, back);
    if (budget_.ended()) return leave(open);
    // Fewer children left, or higher bounds among as many.
    const bool at_front = front.open != back.open ? front.open < back.open : front.sum >= back.sum;
    const std::span<MakespanChild> children = (at_front ? front : back).all();
    std::ranges::stable_sort(children, {}, &MakespanChild::bound);
    const std::size_t place = at_front ? fixed : fixed + static_cast<std::size_t>(std::popcount(open)) - 1;
    for (const MakespanChild& child : children) {
      if (child.bound >= best_cost_) break;
      if (budget_.ended()) {
        least_open_ = std::min(least_open_, child.bound);
        break;
      }
      order_[place] = child.task;
      const TaskSet rest = open & ~(TaskSet{1} << child.task);
      explore(rest, at_front ? child.times : head, at_front ? tail : child.times, fixed + (at_front ? 1 : 0));
      if (budget_.ended()) least_open_ = std::min(least_open_, child.bound);
    }
  }

  /// Called before anything is known of the children; the parent, which fixed the last task, knows this node's bound,
  /// except for the root.
  void leave(TaskSet open) {
    if (open == tables_.all()) least_open_ = 0;
  }

  void bound_children(TaskSet open, const EngineTimes& head, const EngineTimes& tail, Side& front, Side& back) {
    for (TaskSet left = open; left != 0; left &= left - 1) {
      if (!budget_.spend()) return;
      MakespanChild first{.task = std::countr_zero(left), .times = head};
      MakespanChild last{.task = first.task, .times = tail};
      const TaskSet rest = open & ~(TaskSet{1} << first.task);
      append(first.times, tables_, first.task);
      first.bound = bound_of(rest, first.times, tail);
      if (first.bound < best_cost_) front.add(first);
      prepend(last.times, tables_, last.task);
      last.bound = bound_of(rest, head, last.times);
      if (last.bound < best_cost_) back.add(last);
    }
  }

  /// Cheap first: most children fall by a single engine.
  std::int64_t bound_of(TaskSet tasks, const EngineTimes& head, const EngineTimes& tail) const {
    const std::int64_t cheap = single_engine_bound(tables_, tasks, head, tail);
    return cheap >= best_cost_ ? cheap : makespan_bound(tables_, tasks, head, tail);
  }

  void finish(TaskSet last, EngineTimes head, const EngineTimes& tail, std::size_t fixed) {
    if (last != 0) {
      order_[fixed] = std::countr_zero(last);
      append(head, tables_, order_[fixed]);
    }
    std::int64_t cost = 0;
    for (std::size_t engine = 0; engine < engine_count; ++engine) cost = std::max(cost, head[engine] + tail[engine]);
    if (cost >= best_cost_) return;
    best_cost_ = cost;
    best_ = order_;
  }

  const FlowTables& tables_;
  SearchBudget budget_;
  std::vector<int> order_;
  std::vector<int> best_;
  std::int64_t best_cost_;
  std::int64_t least_open_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace

OrderedTasks least_makespan(const OrderingProblem& problem, const FlowTables& tables, std::vector<int> start,
                            const SearchLimits& limits) {
  const auto cost = static_cast<std::int64_t>(cost_of(problem, start));
  return MakespanSearch(tables, limits, std::move(start), cost).run(times_of(front_of(problem.engines)));
}

}  // namespace gpushare
