// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/ordering/solvers/solver.hpp"

namespace gpushare {

struct SolverEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  ///< paper and section
  std::unique_ptr<Solver> (*make)();
};

std::span<const SolverEntry> solvers();

/// Throws InvalidInput for an unknown name, listing the known ones.
std::unique_ptr<Solver> make_solver(std::string_view name);

}  // namespace gpushare
