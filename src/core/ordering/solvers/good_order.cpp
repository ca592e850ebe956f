// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/solvers/good_order.hpp"

#include <algorithm>

#include "core/ordering/solvers/bounds.hpp"

namespace gpushare {
namespace {

struct Candidate {
  std::vector<int> order;
  double cost = 0;
};

void move_task(std::vector<int>& order, std::size_t from, std::size_t to) {
  const auto at = [&](std::size_t place) { return order.begin() + static_cast<std::ptrdiff_t>(place); };
  if (from < to) std::rotate(at(from), at(from + 1), at(to + 1));
  if (to < from) std::rotate(at(to), at(from), at(from + 1));
}

/// Moves each task to its best place; returns whether that has improved the order.
bool improve(const OrderingProblem& problem, Candidate& best, double enough) {
  const double before = best.cost;
  for (std::size_t from = 0; from < best.order.size(); ++from) {
    for (std::size_t to = 0; to < best.order.size(); ++to) {
      if (best.cost <= enough) return false;
      Candidate moved = best;
      move_task(moved.order, from, to);
      moved.cost = cost_of(problem, moved.order);
      if (moved.cost < best.cost) best = std::move(moved);
    }
  }
  return best.cost < before;
}

}  // namespace

std::vector<int> good_order(const OrderingProblem& problem, const FlowTables& tables) {
  const double enough = lower_bound(problem);
  Candidate best{.order = order_of_arrival(problem)};
  best.cost = cost_of(problem, best.order);
  const auto consider = [&](const std::vector<int>& order) {
    const double cost = cost_of(problem, order);
    if (cost < best.cost) best = {.order = order, .cost = cost};
  };
  for (const auto& order : tables.johnson) consider(order);
  if (problem.objective != Objective::Makespan) {
    for (const auto& order : tables.shortest_weighted) consider(order);
  }
  while (improve(problem, best, enough)) {
  }
  return best.order;
}

}  // namespace gpushare
