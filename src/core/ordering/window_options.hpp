// SPDX-License-Identifier: Apache-2.0
// The options that all orderings of windows have.
#pragma once

#include "core/ordering/configured_ordering.hpp"
#include "core/ordering/solvers/solver.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {

/// A WindowOrdering with these options, whose windows this solver puts in order.
ConfiguredOrdering read_window_ordering(const PolicyOptions& options, std::unique_ptr<Solver> (*make_solver)());

}  // namespace gpushare
