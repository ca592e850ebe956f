// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/bandwidth_sharing.hpp"

#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

/// Two blocks of every launch per SM.
Plan two_each(const State& state) {
  Plan plan;
  for (const RunningLaunch& each : state.running()) plan.shares.push_back({each.id, Quota::everywhere(2)});
  return plan;
}

Launch with_cost(std::int64_t blocks, const BlockCost& cost) {
  Launch launch = launch_of(blocks, 0);
  launch.kernel.cost = cost;
  return launch;
}

TEST(BandwidthSharing, AYoungerBlockGainsWhileAnOlderOneWaitsForMemory) {
  Device device = small_device();
  device.per_sm.issue_order = IssueOrder::OldestFirst;
  device.off_sm = {.dram = {1e10}, .delay = {.linear = 0.45, .saturating = 0.25}};
  const Launch older =
      with_cost(6, {.latency = Duration(1000), .issue = Duration(450), .off_sm = Bytes{5000}, .memory = Duration(550)});
  const Launch younger = with_cost(200, {.latency = Duration(1000), .issue = Duration(300)});
  ScriptedPolicy policy(two_each);
  const Trace beside = record(device, workload_of({older, younger}, {0, 50}), policy);
  const std::int64_t alone = block_times(record(device, workload_of({younger}), policy), 0).back();
  EXPECT_GT(block_times(beside, 1).front(), alone);
  EXPECT_NEAR(static_cast<double>(block_times(beside, 1).back()), static_cast<double>(alone), 1);
}

}  // namespace
}  // namespace gpushare
