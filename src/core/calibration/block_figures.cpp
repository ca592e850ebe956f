// SPDX-License-Identifier: Apache-2.0
#include "core/calibration/block_figures.hpp"

#include <algorithm>
#include <cmath>

#include "core/simulation/contention.hpp"

namespace gpushare {
namespace {

/// The queueing network of contention.hpp for one kind of block: t^2 - (Z + I r) t + I (r - 1) Z = 0.
double block_time_alone(double stall, double issue, int residency) {
  const double linear = stall + issue * residency;
  return (linear + std::sqrt(std::max(linear * linear - 4 * issue * (residency - 1) * stall, 0.0))) / 2;
}

/// The share of bytes that the cache serves, and the DRAM cost of the others, such that DRAM is used as in the figures.
struct Misses {
  double llc_hit_ratio;
  double dram_cost_ratio;

  explicit Misses(const BlockFigures& block)
      : llc_hit_ratio(1 - std::clamp(block.misses, 0.0, 1.0)),
        dram_cost_ratio(
            block.misses > 0 && block.cache_bytes > 0 ? block.dram_bytes / (block.misses * block.cache_bytes) : 1.0) {}
};

}  // namespace

double steady_rate(const BlockFigures& block, int sms, int residency, const OffSmBandwidth& off_sm) {
  const double issue = std::min(block.issue, block.latency);
  const double stall = block.latency - issue;
  const double time = block_time_alone(stall, issue, residency);
  const double issuing = residency * (time - stall) / time;
  const Misses misses(block);
  const Traffic traffic{.bytes = block.cache_bytes,
                        .llc_hit_ratio = misses.llc_hit_ratio,
                        .block_time = time,
                        .blocks = sms * residency,
                        .dram_cost_ratio = misses.dram_cost_ratio,
                        .wait = {.stall = stall, .issue = issue, .issuing = issuing, .memory = block.memory}};
  return bandwidth_shares({&traffic, 1}, off_sm).front() * traffic.blocks / time;
}

BlockCost cost_of(const BlockFigures& block) {
  const Misses misses(block);
  const Duration latency(std::max(std::llround(block.latency), 1LL));
  return {.latency = latency,
          .issue = std::min(Duration(std::llround(block.issue)), latency),
          .off_sm = Bytes{std::llround(block.cache_bytes)},
          .llc_hit_ratio = misses.llc_hit_ratio,
          .dram_cost_ratio = misses.dram_cost_ratio,
          .memory = Duration(std::llround(block.memory))};
}

}  // namespace gpushare
