// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/contention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

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
double block_time(const Stage& stage, double issuing) {
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
      const double time = block_time(kind, issuing);
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

/// One resource behind the SMs and what a byte of traffic takes from it.
struct Pipe {
  double capacity;  // bytes per nanosecond
  double weight_of_misses;
  double weight_of_all;

  double weight(const Traffic& traffic) const { return weight_of_all + weight_of_misses * (1 - traffic.llc_hit_ratio); }
};

double per_nanosecond(Bandwidth bandwidth) {
  return bandwidth.bytes_per_second > 0 ? bandwidth.bytes_per_second * 1e-9 : std::numeric_limits<double>::infinity();
}

double demand(const Traffic& traffic) { return traffic.bytes / traffic.block_time; }

}  // namespace

std::vector<double> block_times(std::span<const Residents> mix) {
  const double issuing = total_issuing(mix);
  std::vector<double> times;
  times.reserve(mix.size());
  for (const Residents& residents : mix) times.push_back(block_time(stage(*residents.cost), issuing));
  return times;
}

std::vector<double> bandwidth_shares(std::span<const Traffic> traffics, const OffSmBandwidth& off_sm) {
  // Progressive filling: raise the same rate for all blocks; one that has what it wants stops, and a pipe that is
  // full stops everybody who uses it.
  std::array pipes{Pipe{std::min(per_nanosecond(off_sm.noc), per_nanosecond(off_sm.llc)), 0, 1},
                   Pipe{per_nanosecond(off_sm.dram), 1, 0}};
  std::vector<double> rate(traffics.size(), -1);  // bytes per nanosecond and block; -1 while it still rises
  double level = 0;
  for (std::size_t settled = 0; settled < traffics.size();) {
    double next = std::numeric_limits<double>::infinity();
    std::array<double, 2> users{};
    for (std::size_t i = 0; i < traffics.size(); ++i) {
      if (rate[i] >= 0) continue;
      next = std::min(next, demand(traffics[i]));
      for (std::size_t p = 0; p < pipes.size(); ++p) users[p] += traffics[i].blocks * pipes[p].weight(traffics[i]);
    }
    std::array<bool, 2> full{};
    for (std::size_t p = 0; p < pipes.size(); ++p) {
      if (users[p] > 0) next = std::min(next, level + std::max(pipes[p].capacity, 0.0) / users[p]);
    }
    for (std::size_t p = 0; p < pipes.size(); ++p) {
      full[p] = users[p] > 0 && level + pipes[p].capacity / users[p] <= next * (1 + 1e-12);
      if (users[p] > 0) pipes[p].capacity -= (next - level) * users[p];
    }
    level = next;
    for (std::size_t i = 0; i < traffics.size(); ++i) {
      if (rate[i] >= 0) continue;
      const bool stopped =
          (full[0] && pipes[0].weight(traffics[i]) > 0) || (full[1] && pipes[1].weight(traffics[i]) > 0);
      if (!stopped && demand(traffics[i]) > level * (1 + 1e-12)) continue;
      rate[i] = level;
      ++settled;
    }
  }
  std::vector<double> shares;
  shares.reserve(traffics.size());
  for (std::size_t i = 0; i < traffics.size(); ++i) {
    shares.push_back(demand(traffics[i]) > 0 ? std::min(1.0, rate[i] / demand(traffics[i])) : 1.0);
  }
  return shares;
}

}  // namespace gpushare
