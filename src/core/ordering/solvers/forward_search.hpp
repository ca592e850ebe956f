// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ordering/solvers/flow_tables.hpp"

namespace gpushare {

/// Branch and bound from front to back, for any objective and with memory that may make tasks wait. Where it cannot, a
/// partial order is dropped if another one of the same tasks leaves every engine free as early at no higher cost.
OrderedTasks least_cost_forward(const OrderingProblem& problem, const FlowTables& tables, std::vector<int> start,
                                const SearchLimits& limits);

}  // namespace gpushare
