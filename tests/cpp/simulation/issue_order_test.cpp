// SPDX-License-Identifier: Apache-2.0
// SMs that serve the oldest blocks first: the model's equations, and whom the simulated GPU takes for the oldest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/simulation/contention.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr IssueOrder oldest_first = IssueOrder::OldestFirst;

BlockCost ordered_cost(int latency, int issue, int memory = 0) {
  return {.latency = Duration(latency), .issue = Duration(issue), .memory = Duration(memory)};
}

TEST(OldestFirst, OneKindAloneIsAsWithFairSlots) {
  const BlockCost kernel = ordered_cost(1000, 300, 200);
  for (const int blocks : {1, 2, 5, 32}) {
    const Residents mix[] = {{&kernel, blocks}};
    EXPECT_EQ(block_times(mix, oldest_first), block_times(mix));
    EXPECT_EQ(memory_waits(mix, oldest_first), memory_waits(mix));
  }
}

TEST(OldestFirst, TheOldestIsNotSlowed) {
  const BlockCost first = ordered_cost(1000, 300);
  const BlockCost second = ordered_cost(500, 450);
  const Residents alone[] = {{&first, 3}};
  const Residents mix[] = {{&first, 3}, {&second, 4}};
  EXPECT_EQ(block_times(mix, oldest_first).front(), block_times(alone).front());
}

TEST(OldestFirst, TheYoungerSolveTheEquationOfTheHeader) {
  const BlockCost kinds[] = {ordered_cost(1000, 100), ordered_cost(500, 100), ordered_cost(800, 200)};
  const Residents mix[] = {{&kinds[0], 2}, {&kinds[1], 2}, {&kinds[2], 3}};
  const std::vector<double> times = block_times(mix, oldest_first);
  const double left_by_one = 1 - 2 * 100 / times[0];
  const double left_by_two = left_by_one - 2 * 100 / times[1];
  ASSERT_GT(left_by_two, 0.2);
  EXPECT_NEAR(times[1], 400 + 100 / left_by_one * (1 + (times[1] - 400) / times[1]), 1e-6);
  EXPECT_NEAR(times[2], 600 + 200 / left_by_two * (1 + 2 * (times[2] - 600) / times[2]), 1e-6);
}

TEST(OldestFirst, ALaterLaunchIsSlower) {
  const BlockCost one = ordered_cost(1000, 400);
  const BlockCost other = ordered_cost(900, 500);
  const Residents mix[] = {{&one, 2}, {&other, 2}};
  const Residents swapped[] = {{&other, 2}, {&one, 2}};
  EXPECT_GT(block_times(swapped, oldest_first).back(), 1.5 * block_times(mix, oldest_first).front());
  EXPECT_GT(block_times(mix, oldest_first).back(), 1.5 * block_times(swapped, oldest_first).front());
}

TEST(OldestFirst, BesideOlderThatIssueAllTheTimeTheYoungerCrawl) {
  const BlockCost busy = ordered_cost(100, 100);
  const BlockCost waits = ordered_cost(1000, 50);
  const Residents mix[] = {{&busy, 4}, {&waits, 2}, {&waits, 2}};
  const std::vector<double> times = block_times(mix, oldest_first);
  for (const std::size_t younger : {1U, 2U}) {
    EXPECT_TRUE(std::isfinite(times[younger]));
    EXPECT_GT(times[younger], 20 * 1000);
  }
}

TEST(OldestFirst, TheSlotsAreNeverBusierThanAllTheTime) {
  for (const int issue : {1, 50, 300, 900}) {
    const BlockCost kind = ordered_cost(1000, issue);
    const Residents mix[] = {{&kind, 2}, {&kind, 3}, {&kind, 1}};
    const std::vector<double> times = block_times(mix, oldest_first);
    EXPECT_LE(issue * (2 / times[0] + 3 / times[1] + 1 / times[2]), 1 + 2e-3) << issue;
  }
}

TEST(OldestFirst, WhatTheOlderLosesToABusyMemoryTheYoungerHas) {
  const BlockCost older = ordered_cost(1000, 300, 600);
  const BlockCost younger = ordered_cost(1000, 300);
  const Residents mix[] = {{&older, 3}, {&younger, 2}};
  const std::vector<MemoryWait> waits = memory_waits(mix, oldest_first);
  const MemoryLoad busy{.cache_delay = 5, .dram_delay = 5};
  EXPECT_GT(waits[0].block_time(busy, 1), 3 * waits[0].block_time({}, 1));
  EXPECT_TRUE(waits[1].depends_on_load());
  EXPECT_LT(waits[1].block_time(busy, 1), 0.6 * waits[1].block_time({}, 1));
  EXPECT_DOUBLE_EQ(waits[1].block_time({}, 1), block_times(mix, oldest_first)[1]);
}

Device oldest_first_device() {
  Device device = small_device();
  device.per_sm.issue_order = oldest_first;
  return device;
}

/// A launch of so many blocks that issue for 100 ns each.
Launch busy(std::int64_t blocks) {
  Launch launch = launch_of(blocks, 100);
  launch.kernel.cost.issue = Duration(100);
  return launch;
}

/// One block of every launch per SM.
Plan one_each(const State& state) {
  Plan plan;
  for (const RunningLaunch& each : state.running()) plan.shares.push_back({each.id, Quota::everywhere(1)});
  return plan;
}

TEST(OldestFirst, OnAnSmTheLongerResidentLaunchIsServed) {
  const Trace trace = record(oldest_first_device(), workload_of({busy(1), busy(1)}, {0, 50}), one_each);
  EXPECT_EQ(end_of(trace, 0), 100);
  EXPECT_EQ(end_of(trace, 1), 200);
  EXPECT_EQ(end_of(record(small_device(), workload_of({busy(1), busy(1)}, {0, 50}), one_each), 0), 150);
}

TEST(OldestFirst, AWorkerThatTakesTheNextBlockStaysOld) {
  const Trace trace = record(oldest_first_device(), workload_of({busy(3), busy(1)}, {0, 50}), one_each);
  EXPECT_EQ(end_of(trace, 0), 300);
  EXPECT_EQ(end_of(trace, 1), 400);
}

TEST(OldestFirst, ALaunchStartedAgainIsYoung) {
  const Workload workload{
      .name = "again",
      .applications = {application_of("twice", {busy(1), busy(1)}), application_of("once", {busy(1)}, 50)}};
  const Trace trace = record(oldest_first_device(), workload, one_each);
  EXPECT_EQ(end_of(trace, 0), 100);
  EXPECT_EQ(end_of(trace, 2), 200);
  EXPECT_EQ(end_of(trace, 1), 300);
}

TEST(OldestFirst, AnEvictedLaunchIsYoungWhenItReturns) {
  // The first makes room at the end of its first block and comes back, at 150, beside the second.
  const auto pause = [](const State& state) {
    Plan plan = one_each(state);
    if (state.now() == Time(Duration(0))) plan.wake_at = Time(Duration(50));
    if (state.now() == Time(Duration(50))) plan.wake_at = Time(Duration(150));
    if (state.now() >= Time(Duration(50)) && state.now() < Time(Duration(150))) {
      plan.shares.erase(plan.shares.begin());
      plan.wake_at = Time(Duration(150));
    }
    return plan;
  };
  const Trace trace = record(oldest_first_device(), workload_of({busy(2), busy(2)}, {0, 50}), pause);
  EXPECT_EQ(end_of(trace, 1), 300);
  EXPECT_EQ(end_of(trace, 0), 400);
}

}  // namespace
}  // namespace gpushare
