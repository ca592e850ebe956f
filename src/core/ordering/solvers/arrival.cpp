// SPDX-License-Identifier: Apache-2.0
// The order in which tasks came, as Strings has it (Sengupta et al. 2014, as CuMAS describes it): whatever is next goes
// as soon as its engine is idle, so phases of different applications overlap, but only by chance.
#include "core/ordering/solvers/solver.hpp"

namespace gpushare {
namespace {

class Arrival : public Solver {
 public:
  OrderedTasks order(const OrderingProblem& problem, const SearchLimits& /*limits*/) const override {
    validate(problem);
    return evaluated(problem, order_of_arrival(problem));
  }
  bool heeds_objective() const override { return false; }
};

}  // namespace

std::unique_ptr<Solver> make_arrival_solver() { return std::make_unique<Arrival>(); }

}  // namespace gpushare
