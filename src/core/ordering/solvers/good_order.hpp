// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ordering/solvers/flow_tables.hpp"

namespace gpushare {

/// A good order fast, for a search to start from: the best of the order of arrival, Johnson's orders on pairs of
/// engines and Smith's on single ones, then single tasks moved elsewhere as long as that helps.
std::vector<int> good_order(const OrderingProblem& problem, const FlowTables& tables);

}  // namespace gpushare
