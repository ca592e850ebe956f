// SPDX-License-Identifier: Apache-2.0
// Ordering problems to compute by hand, and random ones.
#pragma once

#include <vector>

#include "core/ordering/solvers/solver.hpp"
#include "sample_devices.hpp"

namespace gpushare::test {

inline Task task_of(std::int64_t uplink, std::int64_t compute, std::int64_t downlink, std::int64_t memory = 0) {
  return {Duration(uplink), Duration(compute), Duration(downlink), Bytes{memory}};
}

/// Small numbers, so that ties are common; one operation in eight is missing.
inline Task random_task(Dice& dice, int longest = 30) {
  const auto time = [&] { return dice.once_in(8) ? 0 : dice.between(1, longest); };
  Task task = task_of(time(), time(), time(), dice.between(0, 9));
  task.weight = dice.between(1, 4);
  return task;
}

inline std::vector<Task> random_tasks(Dice& dice, int count) {
  std::vector<Task> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back(random_task(dice));
  return tasks;
}

/// What a previous window may leave: each engine a while in use, the later ones longer as a rule.
inline EnginesState random_engines(Dice& dice) {
  if (dice.once_in(3)) return {};
  EnginesState engines{.uplink = Duration(dice.between(0, 10)),
                       .compute = Duration(dice.between(0, 60)),
                       .downlink = Duration(dice.between(0, 90))};
  engines.held.push_back({.until = engines.compute, .size = Bytes{dice.between(0, 9)}});
  return engines;
}

}  // namespace gpushare::test
