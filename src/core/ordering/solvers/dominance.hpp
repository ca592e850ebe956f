// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>
#include <vector>

#include "core/ordering/solvers/flow_tables.hpp"

namespace gpushare {

/// Partial orders met so far, by the set of their tasks. Without waits for memory the uplink is free at the same time
/// after all of them, so one is as good as another if it is in the other two engines and in cost.
class Dominance {
 public:
  /// Is there one that is as good in everything? If not, keeps this one.
  bool is_dominated(TaskSet tasks, const Front& front, double cost) {
    std::vector<Met>& met = met_[tasks];
    for (const Met& other : met) {
      if (other.compute <= front.compute && other.downlink <= front.downlink && other.cost <= cost) return true;
    }
    std::erase_if(met, [&](const Met& other) {
      return front.compute <= other.compute && front.downlink <= other.downlink && cost <= other.cost;
    });
    if (kept_ < most_kept) met.push_back({front.compute, front.downlink, cost}), ++kept_;
    return false;
  }

 private:
  struct Met {
    std::int64_t compute = 0;
    std::int64_t downlink = 0;
    double cost = 0;
  };
  static constexpr std::size_t most_kept = 4'000'000;  // some 200 MB

  std::unordered_map<TaskSet, std::vector<Met>> met_;
  std::size_t kept_ = 0;
};

}  // namespace gpushare
