// SPDX-License-Identifier: Apache-2.0
// Every order there is (CuMAS-BF): what the others are compared with.
//
// Suits: up to 9 tasks. Fails: beyond, by its time; the limits then end it with the best order so far.
#include <algorithm>

#include "core/ordering/solvers/search_budget.hpp"
#include "core/ordering/solvers/solver.hpp"

namespace gpushare {
namespace {

class Enumeration {
 public:
  Enumeration(const OrderingProblem& problem, const SearchLimits& limits)
      : problem_(problem), budget_(limits), order_(order_of_arrival(problem)), best_(order_) {
    best_sum_ = cost_of(problem, best_) * divisor();
  }

  OrderedTasks run() {
    const double nothing = problem_.objective == Objective::Makespan ? cost_of(problem_, {}) : 0;
    extend(Timeline(problem_.engines, problem_.memory_limit), nothing, 0);
    OrderedTasks answer = evaluated(problem_, best_);
    if (!budget_.ended()) answer.lower_bound_ns = answer.cost_ns;
    answer.nodes = budget_.nodes();
    return answer;
  }

 private:
  double divisor() const { return problem_.objective == Objective::Makespan ? 1 : turnaround_divisor(problem_); }

  void extend(const Timeline& timeline, double sum, std::size_t fixed) {
    if (fixed == order_.size()) {
      if (sum < best_sum_) best_sum_ = sum, best_ = order_;
      return;
    }
    for (std::size_t next = fixed; next < order_.size() && budget_.spend(); ++next) {
      std::swap(order_[fixed], order_[next]);
      const Task& task = problem_.tasks[static_cast<std::size_t>(order_[fixed])];
      Timeline longer = timeline;
      const double end = nanoseconds(longer.append(task));
      const bool adds = problem_.objective != Objective::Makespan;
      extend(longer, adds ? sum + turnaround_weight(problem_, task) * end : std::max(sum, end), fixed + 1);
      std::swap(order_[fixed], order_[next]);
    }
  }

  const OrderingProblem& problem_;
  SearchBudget budget_;
  std::vector<int> order_;
  std::vector<int> best_;
  double best_sum_ = 0;
};

class BruteForce : public Solver {
 public:
  OrderedTasks order(const OrderingProblem& problem, const SearchLimits& limits) const override {
    validate(problem);
    return Enumeration(problem, limits).run();
  }
};

}  // namespace

std::unique_ptr<Solver> make_brute_force_solver() { return std::make_unique<BruteForce>(); }

}  // namespace gpushare
