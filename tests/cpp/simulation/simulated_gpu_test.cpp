// SPDX-License-Identifier: Apache-2.0
// Schedules that are small enough to be computed by hand: blocks of equal length that do not slow one another down.
#include "core/simulation/simulated_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::Each;
using testing::ElementsAre;

Launch with_cost(Launch launch, const BlockCost& cost) {
  launch.kernel.cost = cost;
  return launch;
}

// SRTF, Fig. 2.
TEST(SimulatedGpu, TwelveEqualBlocksClimbThreeSteps) {
  const Trace trace = record(small_device(), workload_of({launch_of(12, 100)}), "fifo");
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 0, 100, 100, 100, 100, 200, 200, 200, 200));
  EXPECT_EQ(end_of(trace, 0), 300);
}

TEST(SimulatedGpu, BlocksGoToTheSmsRoundRobin) {
  const Trace trace = record(small_device(3), workload_of({launch_of(7, 100)}), "fifo");
  EXPECT_THAT(block_sms(trace, 0), ElementsAre(0, 1, 2, 0, 1, 2, 0));
}

TEST(SimulatedGpu, UnderFifoTheSecondStartsWhenTheLastBlockOfTheFirstHasStarted) {
  // Six blocks of the first: four at 0, two at 100; only then is there room for two of the second.
  const Trace trace = record(small_device(), workload_of({launch_of(6, 100), launch_of(4, 100)}), "fifo");
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(100, 100, 200, 200));
}

TEST(SimulatedGpu, AFreedSlotIsRefilledAtOnce) {
  const Trace trace = record(small_device(), workload_of({launch_of(3, 100), launch_of(5, 30)}), "fifo");
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(0, 30, 60, 90, 100));
}

TEST(SimulatedGpu, ContentionSlowsResidentsAndRatesFollowTheMix) {
  // Blocks that only issue: two at a time take 200 ns. The first is alone for 50 ns and has 50 of its 100 left, which
  // take 100 beside the second; then the second has 50 left, alone.
  const Launch busy = with_cost(launch_of(1, 100), {.latency = Duration(100), .issue = Duration(100)});
  const Trace trace = record(small_device(), workload_of({busy, busy}, {0, 50}), "fifo");
  EXPECT_EQ(end_of(trace, 0), 150);
  EXPECT_EQ(end_of(trace, 1), 200);
}

TEST(SimulatedGpu, OffSmBandwidthIsSharedBySms) {
  // Each block wants 1000 bytes in 100 ns; 10 bytes/ns feed one of them. Two take twice as long, on different SMs too.
  Device device = small_device(2);
  device.off_sm.dram = {10e9};
  const Launch hungry = with_cost(launch_of(1, 100), {.latency = Duration(100), .off_sm = Bytes{1000}});
  EXPECT_EQ(end_of(record(device, workload_of({hungry}), "fifo"), 0), 100);
  const Trace both = record(device, workload_of({hungry, hungry}), "fifo");
  EXPECT_THAT(block_sms(both, 1), ElementsAre(1));
  EXPECT_EQ(end_of(both, 1), 200);
}

TEST(SimulatedGpu, TheFirstWaveStartsCold) {
  const Launch cold = with_cost(launch_of(6, 100), {.latency = Duration(100), .startup_ratio = 0.5});
  const Trace trace = record(small_device(), workload_of({cold}), "fifo");
  EXPECT_THAT(block_times(trace, 0), ElementsAre(150, 150, 150, 150, 100, 100));
}

TEST(SimulatedGpu, ALaunchTakesTimeToReachTheGpu) {
  Device device = small_device();
  device.delays.launch = Duration(70);
  EXPECT_THAT(block_starts(record(device, workload_of({launch_of(5, 100)}), "fifo"), 0),
              ElementsAre(70, 70, 70, 70, 170));
}

TEST(SimulatedGpu, APlanTakesTimeToReachTheGpu) {
  Device device = small_device();
  device.delays.signal = Duration(40);
  EXPECT_THAT(block_starts(record(device, workload_of({launch_of(1, 100)}), "fifo"), 0), ElementsAre(40));
}

TEST(SimulatedGpu, UntilAPlanArrivesThePreviousOneHolds) {
  // The end of the first blocks and the second launch's plan cross: at 100 the old plan still holds.
  Device device = small_device();
  device.delays.signal = Duration(50);
  const Workload workload = workload_of({launch_of(8, 100), launch_of(1, 100)}, {0, 120});
  const Trace trace = record(device, workload, [](const State& state) {
    Plan plan;
    plan.shares.push_back(full_share(state.running().back()));
    return plan;
  });
  // Plan 1 at 50: blocks at 50 and 150. Plan 2 (the second alone) is decided at 120 and holds from 170.
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(50, 50, 50, 50, 150, 150, 150, 150));
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(250));
}

TEST(SimulatedGpu, AnSmStartsItsBlocksOneByOne) {
  Device device = small_device(2);
  device.delays.block_dispatch = Duration(10);
  const Trace trace = record(device, workload_of({launch_of(6, 100)}), "fifo");
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 10, 10, 20, 20));
}

TEST(SimulatedGpu, StaggeredBlocksStayStaggered) {
  Device device = small_device();
  device.delays.block_dispatch = Duration(10);
  const Trace trace = record(device, workload_of({launch_of(8, 100)}), "fifo");
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 10, 20, 30, 100, 110, 120, 130));
}

TEST(SimulatedGpu, WithoutAPlanNothingStarts) {
  SimulatedGpu gpu(small_device(), 1);
  const Operation launch = launch_of(1, 100);
  gpu.submit({.operation = &launch});
  EXPECT_EQ(gpu.next_event(Time(Duration(1000))), std::nullopt);
  EXPECT_EQ(gpu.next_event(std::nullopt), std::nullopt);
}

TEST(SimulatedGpu, NeverAdvancesBeyondTheDeadline) {
  SimulatedGpu gpu(small_device(), 1);
  const Operation launch = launch_of(1, 100);
  gpu.submit({.operation = &launch});
  gpu.apply({.shares = {{OperationId{0}, Quota::everywhere(4)}}});
  EXPECT_EQ(gpu.next_event(Time(Duration(99)))->kind, EventKind::BlockStarted);
  EXPECT_EQ(gpu.next_event(Time(Duration(99))), std::nullopt);
  const auto end = gpu.next_event(Time(Duration(100)));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->kind, EventKind::BlockEnded);
  EXPECT_EQ(end->time, Time(Duration(100)));
}

TEST(SimulatedGpu, ABlockSlowedToTheEndOfTimeStillCountsOneByOne) {
  const Trace trace = record(small_device(), workload_of({launch_of(1, 3'600'000'000'000)}), "fifo");
  EXPECT_EQ(end_of(trace, 0), 3'600'000'000'000);
}

TEST(SimulatedGpu, NoBlockTakesNoTime) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Launch brief = with_cost(launch_of(1, 1), {.latency = Duration(1), .variation_ratio = 3});
    EXPECT_GE(end_of(record(small_device(), workload_of({brief}), "fifo", seed), 0), 1) << seed;
  }
}

TEST(SimulatedGpu, KeepsLittleOfLaunchesThatHaveEnded) {
  Device device = small_device(500);
  device.delays.top_up = Duration(100);
  constexpr int launches = 1000;
  const Workload workload{.applications = {application_of("a", std::vector<Operation>(launches, launch_of(1, 100)))}};
  SimulatedGpu gpu(device, 1);
  const std::size_t before = mallinfo2().uordblks;
  run(gpu, *make_policy("fifo"), workload, {});
  EXPECT_LT((mallinfo2().uordblks - before) / launches, 1000);  // bytes: one for every SM and more would be too much
}

}  // namespace
}  // namespace gpushare
