// SPDX-License-Identifier: Apache-2.0
// A real GPU reports blocks in groups. Whoever counts events must come to the same figures as from single blocks.
#include "event_groups.hpp"

#include <gtest/gtest.h>

#include "core/trace/accuracy.hpp"
#include "core/trace/metrics.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

struct Sample {
  Device device;
  Workload workload;
  Trace trace;
};

/// Every other one has equal blocks and no delays, so that large groups end together.
Sample random_sample(std::uint64_t seed) {
  Dice dice(seed);
  Device device = random_device(dice);
  Workload workload = random_workload(dice, device, dice.between(1, 5));
  if (seed % 2 == 0) {
    device.off_sm = {};
    for (Application& application : workload.applications) {
      for (Operation& operation : application.operations) {
        auto* launch = std::get_if<Launch>(&operation);
        if (launch != nullptr) launch->kernel.cost.variation_ratio = launch->kernel.cost.startup_ratio = 0;
      }
    }
  }
  const Trace trace = record(device, workload, seed % 3 == 0 ? "srtf" : "even", seed);
  return {.device = std::move(device), .workload = std::move(workload), .trace = trace};
}

void expect_same_progress(const State& left, const State& right) {
  ASSERT_EQ(left.now(), right.now());
  ASSERT_EQ(left.running().size(), right.running().size());
  for (std::size_t position = 0; position < left.running().size(); ++position) {
    const RunningLaunch& one = left.running()[position];
    const RunningLaunch& other = right.running()[position];
    ASSERT_EQ(one.id, other.id);
    ASSERT_EQ(one.started, other.started);
    ASSERT_EQ(one.done, other.done);
    for (std::size_t sm = 0; sm < one.per_sm.size(); ++sm) {
      ASSERT_EQ(one.per_sm[sm].resident, other.per_sm[sm].resident);
      ASSERT_EQ(one.per_sm[sm].done, other.per_sm[sm].done);
      ASSERT_EQ(one.per_sm[sm].active(left.now()), other.per_sm[sm].active(right.now()));
    }
  }
}

TEST(EventGroups, AStateIsTheSameAfterGroupsAsAfterSingleBlocks) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Sample sample = random_sample(seed);
    State from_single(sample.device, sample.workload);
    State from_groups(sample.device, sample.workload);
    for (const Moment& moment : in_moments(sample.trace)) {
      for (const Event& event : moment.single) from_single.update(event);
      for (const Event& event : moment.grouped) from_groups.update(event);
      ASSERT_NO_FATAL_FAILURE(expect_same_progress(from_single, from_groups));
    }
  }
}

TEST(EventGroups, AUsageMeterMeasuresTheSame) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Sample sample = random_sample(seed);
    UsageMeter from_single(sample.device, sample.workload);
    UsageMeter from_groups(sample.device, sample.workload);
    for (const Event& event : sample.trace.events) from_single.saw(event);
    for (const Event& event : in_groups(sample.trace).events) from_groups.saw(event);
    EXPECT_EQ(from_groups.blocks(), from_single.blocks());
    EXPECT_EQ(from_groups.sm_busy(), from_single.sm_busy());
    EXPECT_EQ(from_groups.operation_durations(), from_single.operation_durations());
    EXPECT_EQ(from_groups.to_device_busy(), from_single.to_device_busy());
    EXPECT_EQ(from_groups.to_host_busy(), from_single.to_host_busy());
    EXPECT_EQ(from_groups.makespan(), from_single.makespan());
  }
}

TEST(EventGroups, AreLargeEnoughToBeATest) {
  std::int32_t largest = 0;
  for (const Event& event : in_groups(random_sample(0).trace).events) largest = std::max(largest, event.blocks);
  EXPECT_GE(largest, 4);
}

TEST(EventGroups, SurviveBeingWrittenDown) {
  const Trace trace = in_groups(random_sample(0).trace);
  EXPECT_EQ(trace_from_bytes(to_bytes(trace)), trace);
}

// Waves of four equal blocks: what ends together is equal, so every model hears the same from the groups.
TEST(EventGroups, PredictionsFromEqualBlocksAreTheSame) {
  const Device device = small_device(2);
  const Workload workload = workload_of({launch_of(40, 100)});
  const Trace trace = record(device, workload, "fifo");
  const auto from_single = check_predictions(trace, device, workload);
  const auto from_groups = check_predictions(in_groups(trace), device, workload);
  ASSERT_EQ(from_groups.size(), from_single.size());
  for (std::size_t at = 0; at < from_groups.size(); ++at) {
    EXPECT_EQ(from_groups[at].actual, from_single[at].actual);
    EXPECT_EQ(from_groups[at].staircase, from_single[at].staircase);
    EXPECT_EQ(from_groups[at].regression, from_single[at].regression);
  }
}

// 20 blocks on an SM of four: when the first group of four has ended, 16 are left. T = 100 + 16 x 100 / 4.
TEST(EventGroups, ThePredictorCountsAllBlocksOfTheFirstGroup) {
  const Device device = small_device();
  const Workload workload = workload_of({launch_of(20, 100)});
  const auto checks = check_predictions(in_groups(record(device, workload, "fifo")), device, workload);
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].actual, Duration(500));
  EXPECT_EQ(checks[0].slice_unaware, Duration(500));
  EXPECT_EQ(checks[0].simple_slicing, Duration(500));
}

}  // namespace
}  // namespace gpushare
