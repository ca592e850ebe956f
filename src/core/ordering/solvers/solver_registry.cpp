// SPDX-License-Identifier: Apache-2.0
// Every solver, one line each: its name, what it does, where it is from, and the function that makes it.
#include "core/ordering/solvers/solver_registry.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/model/errors.hpp"
#include "core/model/quoted_list.hpp"

// clang-format off
#define GPUSHARE_SOLVERS(entry)                                                                             \
  entry("arrival", "order of arrival, as Strings does it", "CuMAS 1, 6.1", make_arrival_solver)             \
  entry("dp", "one stored order for every set of tasks", "CuMAS 4.4, corrected", make_dp_solver)            \
  entry("dp-as-printed", "dp with Eq. 2 and 5 as printed, for comparison", "CuMAS 4.3", make_printed_dp_solver) \
  entry("brute-force", "every order there is", "CuMAS 4.3", make_brute_force_solver)                        \
  entry("exact", "the best order, proven by branch and bound", "Lageweg et al. 1978", make_exact_solver)
// clang-format on

namespace gpushare {

#define GPUSHARE_DECLARE(name, summary, source, make) std::unique_ptr<Solver> make();
GPUSHARE_SOLVERS(GPUSHARE_DECLARE)

namespace {

#define GPUSHARE_ROW(name, summary, source, make) SolverEntry{name, summary, source, make},
constexpr std::array solver_table{GPUSHARE_SOLVERS(GPUSHARE_ROW)};

}  // namespace

std::span<const SolverEntry> solvers() { return solver_table; }

std::unique_ptr<Solver> make_solver(std::string_view name) {
  const auto entry = std::ranges::find(solver_table, name, &SolverEntry::name);
  require(entry != solver_table.end(),
          "no solver '" + std::string(name) +
              "'; known: " + quoted_list(solver_table, [](const SolverEntry& each) { return each.name; }));
  return entry->make();
}

}  // namespace gpushare
