// SPDX-License-Identifier: Apache-2.0
// What was seen on real GPUs beyond SRTF's model: workers that have to come back, launches that end late, blocks that
// are served one after the other, and grids whose work falls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

Device device_with_top_up(std::int64_t nanoseconds) {
  Device device = small_device();
  device.delays.top_up = Duration(nanoseconds);
  return device;
}

/// So many blocks at first, others from 50 on, others again from 150.
std::function<Plan(const State&)> quotas(int first, int then, int last) {
  return [=](const State& state) {
    const OperationId launch = state.running().front().id;
    if (state.now() < at(50)) return Plan{.shares = {{launch, Quota::everywhere(first)}}, .wake_at = at(50)};
    if (state.now() < at(150)) return Plan{.shares = {{launch, Quota::everywhere(then)}}, .wake_at = at(150)};
    return Plan{.shares = {{launch, Quota::everywhere(last)}}};
  };
}

TEST(TopUp, WorkersThatStayNeedNone) {
  const Trace trace = record(device_with_top_up(30), workload_of({launch_of(8, 100)}), "fifo");
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 0, 100, 100, 100, 100));
}

TEST(TopUp, ALaunchThatMadeRoomHasToReturn) {
  const Trace trace = record(device_with_top_up(30), workload_of({launch_of(8, 100)}), quotas(4, 1, 4));
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 0, 100, 180, 180, 180));
}

TEST(TopUp, AQuotaBeyondTheFirstIsWaitedFor) {
  const Trace trace = record(device_with_top_up(30), workload_of({launch_of(4, 100)}), quotas(2, 4, 4));
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 80, 80));
}

TEST(TopUp, ALaunchThatWaitsForRoomTakesItAtOnce) {
  const Trace trace = record(device_with_top_up(30), workload_of({launch_of(4, 100), launch_of(4, 100)}), "fifo");
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(100, 100, 100, 100));
}

TEST(TopUp, MeanwhileTheRoomIsKept) {
  // The first may come back from 150 on, has room at 200 and workers at 230; until then the second, which ranks behind
  // it, does not get the room. The second then comes back in the same way.
  const Workload workload = workload_of({launch_of(8, 100), launch_of(8, 100)});
  const Trace trace = record(device_with_top_up(30), workload, [](const State& state) {
    Plan plan;
    for (const RunningLaunch& each : state.running()) plan.shares.push_back(full_share(each));
    if (state.now() >= at(50) && state.now() < at(150)) std::ranges::reverse(plan.shares);
    plan.wake_at = state.now() < at(50) ? at(50) : at(150);
    if (state.now() >= at(150)) plan.wake_at.reset();
    return plan;
  });
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(100, 100, 100, 100, 360, 360, 360, 360));
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 0, 230, 230, 230, 230));
}

TEST(Completion, TheHostHearsOfTheEndLater) {
  Device device = small_device();
  device.delays.completion = Duration(25);
  const Workload twice{.name = "twice", .applications = {application_of("a", {launch_of(4, 100), launch_of(1, 100)})}};
  const Trace trace = record(device, twice, "fifo");
  EXPECT_EQ(end_of(trace, 0), 125);
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(125));
}

TEST(Completion, OthersTakeTheRoomMeanwhile) {
  Device device = small_device();
  device.delays.completion = Duration(25);
  const Trace trace = record(device, workload_of({launch_of(4, 100), launch_of(1, 100)}), "fifo");
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(100));
}

Launch with_ratios(std::int64_t blocks, double stagger_ratio, double trend_ratio) {
  Launch launch = launch_of(blocks, 100);
  launch.kernel.cost.stagger_ratio = stagger_ratio;
  launch.kernel.cost.trend_ratio = trend_ratio;
  return launch;
}

TEST(Stagger, TheFirstWaveEndsOneAfterTheOtherAndTheOthersFollow) {
  const Trace trace = record(small_device(), workload_of({with_ratios(8, 1, 0)}), "fifo");
  EXPECT_THAT(block_times(trace, 0), ElementsAre(40, 80, 120, 160, 100, 100, 100, 100));
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 0, 40, 80, 120, 140));
}

TEST(Stagger, GoesByTheQuota) {
  const Trace trace = record(small_device(), workload_of({with_ratios(4, 1, 0)}), quotas(2, 2, 2));
  const std::vector<std::int64_t> times = block_times(trace, 0);
  EXPECT_THAT(times, ElementsAre(67, 133, 100, 100));
}

TEST(Trend, WorkFallsAlongTheGridAndItsMeanIsKept) {
  const Trace trace = record(small_device(), workload_of({with_ratios(4, 0, 0.4)}), "fifo");
  EXPECT_THAT(block_times(trace, 0), ElementsAre(130, 110, 90, 70));
}

}  // namespace
}  // namespace gpushare
