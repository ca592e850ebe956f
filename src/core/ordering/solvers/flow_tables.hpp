// SPDX-License-Identifier: Apache-2.0
// A problem's tasks as columns of nanoseconds, and the fixed orders that lower bounds walk through: for every pair of
// engines the order of Johnson's rule (with the time between the two as a lag, Mitten's rule). The best order of any
// subset of the tasks on two engines is the same order with the others left out, so it is sorted once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/ordering/solvers/solver.hpp"

namespace gpushare {

/// A set of tasks, one bit each.
using TaskSet = std::uint32_t;

enum Engine : std::size_t { uplink, compute, downlink };
constexpr std::size_t engine_count = 3;

/// Two engines that a task uses one before the other.
struct EnginePair {
  Engine first;
  Engine second;
};
constexpr std::array<EnginePair, 3> engine_pairs{{{uplink, compute}, {compute, downlink}, {uplink, downlink}}};

struct FlowTables {
  explicit FlowTables(const OrderingProblem& problem);

  int size() const { return static_cast<int>(weight.size()); }
  TaskSet all() const { return size() == 32 ? ~TaskSet{0} : (TaskSet{1} << size()) - 1; }
  std::int64_t on(Engine engine, int task) const { return times[engine][static_cast<std::size_t>(task)]; }
  /// Between the end on the first engine and the start on the second.
  std::int64_t lag(EnginePair pair, int task) const {
    return pair.first == uplink && pair.second == downlink ? on(compute, task) : 0;
  }

  std::array<std::vector<std::int64_t>, engine_count> times;
  std::vector<double> weight;                                    ///< in the sum of turnarounds
  std::array<std::vector<int>, engine_pairs.size()> johnson;     ///< tasks by pair of engines
  std::array<std::vector<int>, engine_count> shortest_weighted;  ///< Smith's rule: by time / weight
};

}  // namespace gpushare
