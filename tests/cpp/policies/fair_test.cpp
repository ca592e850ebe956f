// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_written_events.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::Each;
using testing::ElementsAre;

int sms_of(const PolicyRehearsal& run, int launch) {
  const auto quotas = run.quotas(launch);
  return static_cast<int>(std::ranges::count_if(quotas, [](int blocks) { return blocks > 0; }));
}

Workload weighted(const std::vector<double>& weights, std::int64_t blocks) {
  Workload workload = workload_of(std::vector<Launch>(weights.size(), launch_of(blocks, 1000)));
  for (std::size_t i = 0; i < weights.size(); ++i) workload.applications[i].weight = weights[i];
  return workload;
}

TEST(Fair, SmsArePartedByWeight) {
  PolicyRehearsal run("fair", small_device(12), weighted({1, 2, 3}, 10'000));
  for (int i = 0; i < 3; ++i) run.arrive(i, 0);
  EXPECT_EQ(sms_of(run, 0), 2);
  EXPECT_EQ(sms_of(run, 1), 4);
  EXPECT_EQ(sms_of(run, 2), 6);
}

TEST(Fair, OneAloneHasEverything) {
  PolicyRehearsal run("fair", small_device(3), weighted({1}, 100));
  run.arrive(0, 0);
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4));
  EXPECT_FALSE(run.plan().wake_at);
}

TEST(Fair, AnApplicationOfFewBlocksLeavesTheRestToOthers) {
  Workload workload = weighted({1, 1}, 10'000);
  std::get<Launch>(workload.applications[0].operations[0]).blocks = 7;  // fills two SMs
  PolicyRehearsal run("fair", small_device(12), std::move(workload));
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_EQ(sms_of(run, 0), 2);
  EXPECT_EQ(sms_of(run, 1), 10);
}

/// SM time of each application in a run, by its blocks: four at once on an SM.
std::vector<double> had(const Trace& trace, std::size_t applications, std::int64_t until) {
  std::vector<double> times(applications, 0);
  for (const Event& event : trace.events) {
    if (event.kind != EventKind::BlockEnded || ns(event.time) > until) continue;
    times[index(event.application)] += nanoseconds(event.time - event.started) / 4;
  }
  return times;
}

TEST(Fair, PaysBackWhatRoundingTakes) {
  // 7 SMs for two: 4 and 3, and the other way round once somebody is behind.
  const Trace trace = record(small_device(7), weighted({1, 1}, 5'000), "fair:period_ns=50_000");
  const auto times = had(trace, 2, 1'000'000);
  EXPECT_NEAR(times[0] / times[1], 1, 0.1);
}

TEST(Fair, WeightsHoldOverARunOfManyLaunches) {
  Workload workload = weighted({3, 1}, 800);
  for (Application& application : workload.applications) {
    application.operations.resize(20, application.operations.front());
  }
  const Trace trace = record(small_device(8), workload, "fair:period_ns=50_000");
  const auto times = had(trace, 2, 400'000);
  EXPECT_NEAR(times[0] / times[1], 3, 0.3);
}

TEST(Fair, ANewApplicationHasNoDeficit) {
  const Workload workload = weighted({1, 1}, 40'000);
  Workload later = workload;
  later.applications[1].arrival = Duration(300'000);
  const Trace trace = record(small_device(8), later, "fair:period_ns=50_000");
  std::vector<double> before = had(trace, 2, 300'000);
  std::vector<double> after = had(trace, 2, 500'000);
  EXPECT_EQ(before[1], 0);
  EXPECT_NEAR((after[0] - before[0]) / after[1], 1, 0.15);
}

TEST(Fair, WithMoreApplicationsThanSmsTheLeastServedAreNext) {
  const Trace trace = record(small_device(1), weighted({1, 1, 1}, 400), "fair:period_ns=10_000");
  const auto times = had(trace, 3, 150'000);
  for (const double time : times) EXPECT_NEAR(time, 50'000, 15'000);
}

/// Each launch again and again; the first application is of "alice", all others of "mallory".
Workload of_two_owners(std::size_t of_mallory, double weight_of_mallorys, int launches) {
  std::vector<double> weights(1 + of_mallory, weight_of_mallorys);
  weights[0] = 1;
  Workload workload = weighted(weights, 800);
  for (Application& application : workload.applications) {
    application.owner = application.name == workload.applications[0].name ? "alice" : "mallory";
    application.operations.resize(static_cast<std::size_t>(launches), application.operations.front());
  }
  return workload;
}

/// Of all SM time up to then, the first application's.
double part_of_first(const Trace& trace, std::size_t applications, std::int64_t until) {
  const auto times = had(trace, applications, until);
  return times[0] / std::accumulate(times.begin(), times.end(), 0.0);
}

TEST(Fair, TenApplicationsOfOneOwnerTakeNoMoreThanOneOfAnother) {
  const Trace trace = record(small_device(22), of_two_owners(10, 1, 60), "fair:period_ns=50_000");
  EXPECT_NEAR(part_of_first(trace, 11, 400'000), 0.5, 0.05);
}

TEST(Fair, AWeightTakesNothingFromAnotherOwner) {
  const Trace trace = record(small_device(22), of_two_owners(3, 1e6, 60), "fair:period_ns=50_000");
  EXPECT_NEAR(part_of_first(trace, 4, 400'000), 0.5, 0.05);
}

TEST(Fair, MoreApplicationsOfOneOwnerThanSmsLeaveOtherOwnersTheirShare) {
  const Trace trace = record(small_device(8), of_two_owners(40, 1, 40), "fair:period_ns=50_000");
  EXPECT_NEAR(part_of_first(trace, 41, 400'000), 0.5, 0.05);
}

TEST(Fair, AnOwnersApplicationsShareByWeightWhatIsTheOwners) {
  Workload workload = of_two_owners(2, 1, 60);
  workload.applications[1].weight = 3;
  const auto times = had(record(small_device(16), workload, "fair:period_ns=50_000"), 3, 400'000);
  EXPECT_NEAR(times[0] / (times[1] + times[2]), 1, 0.1);
  EXPECT_NEAR(times[1] / times[2], 3, 0.4);
}

TEST(Fair, OwnersHaveTheWeightThatIsTheirs) {
  Workload workload = of_two_owners(4, 1, 60);
  workload.applications[0].owner_weight = 3;
  const Trace trace = record(small_device(16), workload, "fair:period_ns=50_000");
  EXPECT_NEAR(part_of_first(trace, 5, 400'000), 0.75, 0.05);
}

TEST(Fair, AnOwnerWithChangingApplicationsGetsNoLargerShare) {
  Workload workload = of_two_owners(6, 1, 60);
  for (std::size_t i = 1; i < workload.applications.size(); ++i) {  // one after the other
    workload.applications[i].arrival = Duration(60'000 * static_cast<std::int64_t>(i - 1));
    workload.applications[i].operations.resize(2);
  }
  const Trace trace = record(small_device(12), workload, "fair:period_ns=50_000");
  EXPECT_GE(part_of_first(trace, 7, 300'000), 0.45);
}

}  // namespace
}  // namespace gpushare
