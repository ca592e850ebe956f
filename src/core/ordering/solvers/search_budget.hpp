// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ordering/solvers/solver.hpp"

namespace gpushare {

/// Counts nodes against the limits of a search.
class SearchBudget {
 public:
  explicit SearchBudget(const SearchLimits& limits) : limits_(limits) {}

  /// Another node; false once the search has to end.
  bool spend() {
    constexpr std::int64_t nodes_between_looks = 256;
    ended_ = ended_ || nodes_ >= limits_.nodes || (nodes_ % nodes_between_looks == 0 && limits_.stop && limits_.stop());
    if (!ended_) ++nodes_;
    return !ended_;
  }
  bool ended() const { return ended_; }
  std::int64_t nodes() const { return nodes_; }

 private:
  const SearchLimits& limits_;
  std::int64_t nodes_ = 0;
  bool ended_ = false;
};

}  // namespace gpushare
