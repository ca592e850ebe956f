// SPDX-License-Identifier: Apache-2.0
#include "core/calibration/block_figures.hpp"

#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr OffSmBandwidth off_sm{.llc = {50e9}, .dram = {20e9}, .delay = {.linear = 0.6, .saturating = 0.15}};

/// Blocks per nanosecond of a long grid on the simulated GPU, all of its blocks being alike.
double simulated_rate(const BlockFigures& block, int sms, int residency) {
  Device device = small_device(sms);
  device.off_sm = off_sm;
  Launch launch = launch_of(sms * residency * 200, 100);
  launch.kernel.cost = cost_of(block);
  const Trace trace = record(device, workload_of({launch}), [residency](const State& state) {
    return Plan{.shares = {{state.running().front().id, Quota::everywhere(residency)}}};
  });
  return static_cast<double>(launch.blocks) / static_cast<double>(end_of(trace, 0));
}

TEST(SteadyRate, IsWhatTheSimulatorDoes) {
  const BlockFigures figures[] = {
      {.latency = 20'000, .issue = 4'000},
      {.latency = 20'000, .issue = 20'000},
      {.latency = 20'000, .issue = 1'000, .memory = 8'000, .cache_bytes = 40'000, .dram_bytes = 10'000, .misses = 0.25},
      {.latency = 20'000, .issue = 9'000, .memory = 12'000, .cache_bytes = 40'000, .dram_bytes = 60'000, .misses = 1},
  };
  for (const BlockFigures& block : figures) {
    for (const auto& [sms, residency] : {std::pair{1, 1}, {1, 4}, {6, 2}, {6, 4}}) {
      const double expected = steady_rate(block, sms, residency, off_sm);
      EXPECT_NEAR(simulated_rate(block, sms, residency) / expected, 1, 1e-3)
          << block.issue << ", " << block.dram_bytes << ": " << sms << " x " << residency;
    }
  }
}

TEST(CostOf, KeepsTheBytes) {
  const BlockCost cost =
      cost_of({.latency = 100.4, .issue = 30, .cache_bytes = 1000, .dram_bytes = 600, .misses = 0.4});
  EXPECT_EQ(cost.latency, Duration(100));
  EXPECT_EQ(cost.off_sm.count, 1000);
  EXPECT_DOUBLE_EQ(cost.llc_hit_ratio, 0.6);
  EXPECT_DOUBLE_EQ(1000 * (1 - cost.llc_hit_ratio) * cost.dram_cost_ratio, 600);
}

TEST(CostOf, IssuesNeverLongerThanItTakes) {
  const BlockCost cost = cost_of({.latency = 0.2, .issue = 0.9});
  EXPECT_EQ(cost.latency, Duration(1));
  EXPECT_LE(cost.issue, cost.latency);
}

}  // namespace
}  // namespace gpushare
