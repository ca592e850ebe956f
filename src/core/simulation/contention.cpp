// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/contention.hpp"

#include <algorithm>
#include <cmath>

namespace gpushare {
namespace {

struct Stage {
  double stall;
  double issue;
};

Stage stage(const BlockCost& cost) {
  return {.stall = nanoseconds(cost.latency - cost.issue), .issue = nanoseconds(cost.issue)};
}

/// t_k for a given total of issuing blocks A = sum n_j q_j: the positive root of t^2 - (Z + I A) t - I Z = 0.
double time_of_block(const Stage& stage, double issuing) {
  const double linear = stage.stall + stage.issue * issuing;
  return (linear + std::sqrt(linear * linear + 4 * stage.issue * stage.stall)) / 2;
}

/// The fixed point A = sum n_j q_j(A). The sum is concave in A, so the secant from above converges monotonically.
double total_issuing(std::span<const Residents> mix) {
  double issuing = 0;
  for (const Residents& residents : mix) issuing += residents.blocks;
  for (int step = 0; step < 200; ++step) {
    double next = 0;
    double slope = 0;
    for (const Residents& residents : mix) {
      const Stage kind = stage(*residents.cost);
      if (kind.issue == 0) continue;
      const double time = time_of_block(kind, issuing);
      next += residents.blocks * (1 - kind.stall / time);
      // dt/dA from the quadratic: t' (2t - Z - I A) = I t.
      const double growth = kind.issue * time / (2 * time - kind.stall - kind.issue * issuing);
      slope += residents.blocks * kind.stall / (time * time) * growth;
    }
    const double correction = (issuing - next) / std::max(1 - slope, 1e-9);
    issuing = std::max(issuing - correction, 0.0);
    if (std::abs(correction) <= 1e-12 * (1 + issuing)) break;
  }
  return issuing;
}

}  // namespace

std::vector<double> block_times(std::span<const Residents> mix) {
  const double issuing = total_issuing(mix);
  std::vector<double> times;
  times.reserve(mix.size());
  for (const Residents& residents : mix) times.push_back(time_of_block(stage(*residents.cost), issuing));
  return times;
}

double MemoryWait::block_time(double delay) const {
  return time_of_block({.stall = stall + memory * delay, .issue = issue}, issuing);
}

std::vector<MemoryWait> memory_waits(std::span<const Residents> mix) {
  const double issuing = total_issuing(mix);
  std::vector<MemoryWait> waits;
  waits.reserve(mix.size());
  for (const Residents& residents : mix) {
    const Stage kind = stage(*residents.cost);
    waits.push_back({kind.stall, kind.issue, issuing, nanoseconds(residents.cost->memory)});
  }
  return waits;
}

}  // namespace gpushare
