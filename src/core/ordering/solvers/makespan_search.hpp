// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ordering/solvers/flow_tables.hpp"

namespace gpushare {

/// Branch and bound for the makespan, where memory cannot bind. Fixes tasks from both ends of the order, at each step
/// on the side where the children's bounds leave less to search.
OrderedTasks least_makespan(const OrderingProblem& problem, const FlowTables& tables, std::vector<int> start,
                            const SearchLimits& limits);

}  // namespace gpushare
