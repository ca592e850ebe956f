// SPDX-License-Identifier: Apache-2.0
#include "core/trace/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/model/errors.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

// Two applications: one twice as slow as alone, the other four times.
const std::vector<double> two_and_four{2, 4};

TEST(Metrics, NormalizedTurnaroundIsTheSlowdown) {
  EXPECT_DOUBLE_EQ(normalized_turnaround(Duration(300), Duration(200)), 1.5);
}

TEST(Metrics, SystemThroughputAddsUpTheSpeeds) { EXPECT_DOUBLE_EQ(system_throughput(two_and_four), 0.75); }

TEST(Metrics, AverageNormalizedTurnaroundIsTheMeanSlowdown) {
  EXPECT_DOUBLE_EQ(average_normalized_turnaround(two_and_four), 3);
}

TEST(Metrics, StrictFairnessIsSmallestOverLargestSlowdown) {
  EXPECT_DOUBLE_EQ(strict_fairness(std::vector<double>{4, 2, 3}), 0.5);
  EXPECT_DOUBLE_EQ(strict_fairness(std::vector<double>{7}), 1);
}

TEST(Metrics, NothingIsNormalizedByATimeThatIsNotPositive) {
  EXPECT_THROW(normalized_turnaround(Duration(1), Duration(0)), InvalidInput);
}

TEST(Metrics, SlowdownsThatCannotBeAreRefused) {
  for (const double wrong :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const std::vector<double> ntt{1, wrong};
    EXPECT_THROW(system_throughput(ntt), InvalidInput);
    EXPECT_THROW(average_normalized_turnaround(ntt), InvalidInput);
    EXPECT_THROW(strict_fairness(ntt), InvalidInput);
  }
}

TEST(Metrics, NoApplicationHasNoMetric) {
  EXPECT_THROW(system_throughput({}), InvalidInput);
  EXPECT_THROW(average_normalized_turnaround({}), InvalidInput);
  EXPECT_THROW(strict_fairness({}), InvalidInput);
  EXPECT_THROW(percentile({}, 0.5), InvalidInput);
}

TEST(Percentile, InterpolatesBetweenNeighbours) {
  const std::vector<double> values{40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(percentile(values, 0), 10);
  EXPECT_DOUBLE_EQ(percentile(values, 0.5), 25);
  EXPECT_DOUBLE_EQ(percentile(values, 0.9), 37);
  EXPECT_DOUBLE_EQ(percentile(values, 1), 40);
}

TEST(Percentile, OfOneValueIsThatValue) { EXPECT_DOUBLE_EQ(percentile({5}, 0.99), 5); }

TEST(Percentile, ARatioOutsideZeroToOneIsRefused) {
  EXPECT_THROW(percentile({1}, -0.1), InvalidInput);
  EXPECT_THROW(percentile({1}, 1.1), InvalidInput);
  EXPECT_THROW(percentile({1}, std::numeric_limits<double>::quiet_NaN()), InvalidInput);
}

/// Feeds a whole simulated run to a meter.
UsageMeter metered(const Device& device, const Workload& workload) {
  UsageMeter meter(device, workload);
  for (const Event& event : record(device, workload, "fifo").events) meter.saw(event);
  return meter;
}

TEST(UsageMeter, AnSmIsBusyWhileAnyBlockIsResident) {
  // Five blocks on two SMs of four: SM 0 takes three and SM 1 two, all for 100 ns.
  const UsageMeter meter = metered(small_device(2), workload_of({launch_of(5, 100)}));
  EXPECT_THAT(meter.sm_busy(), ElementsAre(Duration(100), Duration(100)));
  EXPECT_EQ(meter.blocks(), 5);
}

TEST(UsageMeter, OverlappingBlocksAreCountedOnce) {
  const UsageMeter meter = metered(small_device(), workload_of({launch_of(1, 100), launch_of(1, 100)}, {0, 50}));
  EXPECT_THAT(meter.sm_busy(), ElementsAre(Duration(150)));
}

TEST(UsageMeter, AnIdleSmIsNotBusy) {
  const UsageMeter meter = metered(small_device(2), workload_of({launch_of(1, 100), launch_of(1, 50)}, {0, 200}));
  EXPECT_THAT(meter.sm_busy(), ElementsAre(Duration(150), Duration(0)));
}

TEST(UsageMeter, AGroupCountsAllItsBlocks) {
  UsageMeter meter(small_device(), workload_of({launch_of(8, 100)}));
  const auto see = [&meter](EventKind kind, std::int32_t blocks, std::int64_t at) {
    meter.saw({.time = Time(Duration(at)), .blocks = blocks, .kind = kind});
  };
  see(EventKind::BlockStarted, 4, 10);
  see(EventKind::BlockEnded, 3, 110);
  see(EventKind::BlockStarted, 3, 110);
  see(EventKind::BlockEnded, 4, 200);
  see(EventKind::BlockStarted, 1, 300);
  see(EventKind::BlockEnded, 1, 350);
  EXPECT_THAT(meter.sm_busy(), ElementsAre(Duration(190 + 50)));
  EXPECT_EQ(meter.blocks(), 8);
}

TEST(UsageMeter, CopyEnginesAreMeasuredPerDirection) {
  const Workload workload{.applications = {application_of("a", {copy_to_device(300), copy_to_host(70)}),
                                           application_of("b", {copy_to_device(200)})}};
  const UsageMeter meter = metered(small_device(), workload);
  EXPECT_EQ(meter.to_device_busy(), Duration(500));
  EXPECT_EQ(meter.to_host_busy(), Duration(70));
}

TEST(UsageMeter, TurnaroundCountsFromTheArrival) {
  // b arrives at 50, waits for the blocks of a until 100, and runs for 30.
  const UsageMeter meter = metered(small_device(), workload_of({launch_of(4, 100), launch_of(4, 30)}, {0, 50}));
  EXPECT_EQ(meter.applications()[0].turnaround(), Duration(100));
  EXPECT_EQ(meter.applications()[1].turnaround(), Duration(80));
  EXPECT_EQ(meter.makespan(), Duration(130));
}

TEST(UsageMeter, TurnaroundCountsFromTheArrivalThoughTheSchedulerWasBusyThen) {
  UsageMeter meter(small_device(), workload_of({launch_of(1, 100)}, {50}));
  meter.saw({.time = Time(Duration(90)), .kind = EventKind::ApplicationArrived});
  meter.saw({.time = Time(Duration(200)), .kind = EventKind::ApplicationEnded});
  EXPECT_EQ(meter.applications()[0].turnaround(), Duration(150));
}

TEST(UsageMeter, ALaunchLastsFromItsArrivalAndACopyFromItsStart) {
  const Workload workload{.applications = {application_of("a", {copy_to_device(300), launch_of(4, 100)}),
                                           application_of("b", {copy_to_device(200)})}};
  const UsageMeter meter = metered(small_device(), workload);
  EXPECT_THAT(meter.operation_durations(), ElementsAre(Duration(300), Duration(100), Duration(200)));
}

TEST(UsageMeter, TheMakespanCountsFromTimeZero) {
  EXPECT_EQ(metered(small_device(), workload_of({launch_of(1, 100)}, {1000})).makespan(), Duration(1100));
}

}  // namespace
}  // namespace gpushare
