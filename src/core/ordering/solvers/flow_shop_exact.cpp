// SPDX-License-Identifier: Apache-2.0
// The best order, proven: branch and bound with Johnson's two-machine bounds (Lageweg, Lenstra, Rinnooy Kan 1978) on
// the three-machine flow shop that CuMAS, section 4, describes. In place of the paper's brute force.
//
// Suits: the windows of CuMAS. Fails: some windows of 20 tasks and more for turnaround, or with memory that binds; the
// limits then end it with the best order so far, and with how far from the best it can be.
#include "core/ordering/solvers/forward_search.hpp"
#include "core/ordering/solvers/good_order.hpp"
#include "core/ordering/solvers/makespan_search.hpp"

namespace gpushare {
namespace {

class Exact : public Solver {
 public:
  OrderedTasks order(const OrderingProblem& problem, const SearchLimits& limits) const override {
    validate(problem);
    const FlowTables tables(problem);
    std::vector<int> start = good_order(problem, tables);
    if (problem.objective == Objective::Makespan && !memory_may_bind(problem)) {
      return least_makespan(problem, tables, std::move(start), limits);
    }
    return least_cost_forward(problem, tables, std::move(start), limits);
  }
};

}  // namespace

std::unique_ptr<Solver> make_exact_solver() { return std::make_unique<Exact>(); }

}  // namespace gpushare
