// SPDX-License-Identifier: Apache-2.0
// What must hold for any device and any workload. (Promises that every policy keeps: policies/every_policy_test.cpp.)
#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"
#include "trace_promises.hpp"

namespace gpushare {
namespace {

using namespace test;

/// One launch whose blocks are all equal.
Launch equal_blocks(Dice& dice, const Device& device) {
  Launch launch = random_launch(dice, device);
  launch.blocks = dice.between(1, 200);
  launch.kernel.cost.variation_ratio = 0;
  launch.kernel.cost.startup_ratio = 0;
  return launch;
}

std::int64_t runtime(const Device& device, const Launch& launch) {
  return end_of(record(device, workload_of({launch}), "fifo"), 0);
}

TEST(Properties, NoSmIdlesWhileABlockFits) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = random_device(dice);
    const Workload workload = random_workload(dice, device, dice.between(1, 6));
    expect_work_conserved_in_order_of_arrival(record(device, workload, "fifo", seed), device, workload);
  }
}

TEST(Properties, MoreBandwidthIsNeverSlower) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    Device device = random_device(dice);
    Launch launch = equal_blocks(dice, device);
    launch.kernel.cost.off_sm = Bytes{dice.between(1000, 50000)};
    device.off_sm = {.llc = {dice.between(5, 40) * 1e9}, .dram = {dice.between(1, 20) * 1e9}};
    Device wider = device;
    wider.off_sm.llc.bytes_per_second *= 1 + dice.ratio();
    wider.off_sm.dram.bytes_per_second *= 1 + dice.ratio();
    EXPECT_LE(runtime(wider, launch), runtime(device, launch)) << "seed " << seed;
  }
}

TEST(Properties, MoreSmsAreNeverSlower) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    Device device = random_device(dice);
    device.off_sm = {};
    const Launch launch = equal_blocks(dice, device);
    std::int64_t before = runtime(device, launch);
    for (int more = 0; more < 3; ++more) {
      ++device.sms;
      const std::int64_t after = runtime(device, launch);
      EXPECT_LE(after, before) << "seed " << seed << ", " << device.sms << " SMs";
      before = after;
    }
  }
}

TEST(Properties, TheSameSeedGivesTheSameBytes) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Dice dice(seed);
    Device device = random_device(dice);
    device.delays = random_delays(dice);
    const Workload workload = random_workload(dice, device, 5);
    EXPECT_EQ(to_bytes(record(device, workload, "srtf", seed)), to_bytes(record(device, workload, "srtf", seed)));
  }
}

TEST(Properties, AnotherSeedGivesAnotherRun) {
  Launch varied = launch_of(20, 1000);
  varied.kernel.cost.variation_ratio = 0.2;
  const Workload workload = workload_of({varied});
  EXPECT_NE(record(small_device(), workload, "fifo", 1), record(small_device(), workload, "fifo", 2));
}

/// Blocks that do not slow one another down, so that a block's time is its work.
Workload varied_work() {
  Launch varied = launch_of(40, 1000);
  varied.kernel.cost.variation_ratio = 0.4;
  return workload_of({with_alone(varied, 10'000), with_alone(launch_of(12, 300), 900), with_alone(varied, 10'000)},
                     {0, 1500, 2500});
}

void expect_same_work(const std::vector<std::int64_t>& left, const std::vector<std::int64_t>& right) {
  ASSERT_EQ(left.size(), right.size());
  // Starts and ends are rounded to the nanosecond.
  for (std::size_t block = 0; block < left.size(); ++block) EXPECT_NEAR(left[block], right[block], 1) << block;
}

TEST(Properties, ABlockHasTheSameWorkUnderEveryPolicy) {
  const Trace fifo = record(small_device(2), varied_work(), "fifo");
  for (const PolicyEntry& policy : policies()) {
    SCOPED_TRACE(policy.name);
    const Trace trace = record(small_device(2), varied_work(), policy.name);
    for (const int launch : {0, 2}) expect_same_work(block_times(trace, launch), block_times(fifo, launch));
  }
}

TEST(Properties, ABlockHasTheSameWorkAloneAndWhenSharing) {
  const Trace together = record(small_device(2), varied_work(), "fifo");
  const Trace only = record(small_device(2), alone(varied_work(), ApplicationId{2}), "fifo");
  expect_same_work(block_times(only, 0), block_times(together, 2));
}

TEST(Properties, EqualKernelsOfTwoApplicationsDrawDifferentWork) {
  const Trace trace = record(small_device(2), varied_work(), "fifo");
  EXPECT_NE(block_times(trace, 0), block_times(trace, 2));
}

}  // namespace
}  // namespace gpushare
