// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/solvers/forward_search.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <vector>

#include "core/ordering/solvers/bounds.hpp"
#include "core/ordering/solvers/search_budget.hpp"

namespace gpushare {
namespace {

/// Costs are sums of products; what differs by less than this share of itself is equal.
constexpr double rounding = 1e-12;

/// The partial orders seen so far, by the set of their tasks. Without waits for memory the uplink is free at the same
/// time after all of them, so one dominates another if it does in the other two engines and in cost.
class Dominance {
 public:
  /// Is there one that is as good in everything? If not, keeps this one.
  bool is_dominated(TaskSet tasks, const Front& front, double cost) {
    std::vector<Met>& met = met_[tasks];
    for (const Met& other : met) {
      if (other.compute <= front.compute && other.downlink <= front.downlink && other.cost <= cost) return true;
    }
    std::erase_if(met, [&](const Met& other) {
      return front.compute <= other.compute && front.downlink <= other.downlink && cost <= other.cost;
    });
    if (kept_ < most_kept) met.push_back({front.compute, front.downlink, cost}), ++kept_;
    return false;
  }

 private:
  struct Met {
    std::int64_t compute = 0;
    std::int64_t downlink = 0;
    double cost = 0;
  };
  static constexpr std::size_t most_kept = 4'000'000;  // some 200 MB

  std::unordered_map<TaskSet, std::vector<Met>> met_;
  std::size_t kept_ = 0;
};

struct Node {
  Timeline timeline;
  double cost = 0;  // of the fixed tasks: sum of weighted ends, or the latest end
};

struct ForwardChild {
  int task = 0;
  double bound = 0;
  Node node;
};

class ForwardSearch {
 public:
  ForwardSearch(const OrderingProblem& problem, const FlowTables& tables, const SearchLimits& limits,
                std::vector<int> start)
      : problem_(problem),
        tables_(tables),
        budget_(limits),
        divisor_(problem.objective == Objective::Makespan ? 1 : turnaround_divisor(problem)),
        uses_dominance_(!memory_may_bind(problem)),
        order_(start),
        best_(std::move(start)),
        best_cost_(cost_of(problem, best_) * divisor_) {}

  OrderedTasks run() {
    Node root{.timeline = Timeline(problem_.engines, problem_.memory_limit)};
    if (is_makespan()) root.cost = static_cast<double>(cost_of(problem_, {}));
    const double bound = bound_of(root, tables_.all());
    if (is_better(bound)) explore(root, tables_.all(), 0);
    const double proven = budget_.ended() ? std::max(bound, std::min(least_open_, best_cost_)) : best_cost_;
    return {.order = best_,
            .cost_ns = best_cost_ / divisor_,
            .lower_bound_ns = std::min(proven, best_cost_) / divisor_,
            .nodes = budget_.nodes()};
  }

 private:
  bool is_makespan() const { return problem_.objective == Objective::Makespan; }
  bool is_better(double cost) const { return cost < best_cost_ * (1 - rounding); }

  double bound_of(const Node& node, TaskSet open) const {
    if (open == 0) return node.cost;
    const EngineTimes head = times_of(node.timeline.front());
    if (!is_makespan()) return node.cost + turnaround_bound(tables_, open, head);
    return std::max(node.cost, static_cast<double>(makespan_bound(tables_, open, head, {})));
  }

  ForwardChild child_of(const Node& node, TaskSet open, int task) const {
    ForwardChild child{.task = task, .node = node};
    const double end = nanoseconds(child.node.timeline.append(problem_.tasks[static_cast<std::size_t>(task)]));
    const double weighted = tables_.weight[static_cast<std::size_t>(task)] * end;
    child.node.cost = is_makespan() ? std::max(node.cost, end) : node.cost + weighted;
    child.bound = bound_of(child.node, open & ~(TaskSet{1} << task));
    return child;
  }

  void explore(const Node& node, TaskSet open, std::size_t fixed) {
    if (open == 0) return finish(node);
    if (uses_dominance_ && met_.is_dominated(open, node.timeline.front(), node.cost)) return;
    std::vector<ForwardChild> children;
    for (TaskSet left = open; left != 0; left &= left - 1) {
      if (!budget_.spend()) return leave(open);
      ForwardChild child = child_of(node, open, std::countr_zero(left));
      if (is_better(child.bound)) children.push_back(std::move(child));
    }
    std::ranges::stable_sort(children, {}, &ForwardChild::bound);
    for (const ForwardChild& child : children) {
      if (!is_better(child.bound)) break;
      order_[fixed] = child.task;
      if (!budget_.ended()) explore(child.node, open & ~(TaskSet{1} << child.task), fixed + 1);
      if (budget_.ended()) least_open_ = std::min(least_open_, child.bound);
    }
  }

  /// Called before anything is known of the children; the parent, which fixed the last task, knows this node's bound,
  /// except for the root.
  void leave(TaskSet open) {
    if (open == tables_.all()) least_open_ = 0;
  }

  void finish(const Node& node) {
    if (!is_better(node.cost)) return;
    best_cost_ = node.cost;
    best_ = order_;
  }

  const OrderingProblem& problem_;
  const FlowTables& tables_;
  SearchBudget budget_;
  double divisor_;
  bool uses_dominance_;
  Dominance met_;
  std::vector<int> order_;
  std::vector<int> best_;
  double best_cost_;
  double least_open_ = std::numeric_limits<double>::max();
};

}  // namespace

OrderedTasks least_cost_forward(const OrderingProblem& problem, const FlowTables& tables, std::vector<int> start,
                                const SearchLimits& limits) {
  return ForwardSearch(problem, tables, limits, std::move(start)).run();
}

}  // namespace gpushare
