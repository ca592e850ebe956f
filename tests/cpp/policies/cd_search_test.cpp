// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/model/errors.hpp"
#include "event_groups.hpp"
#include "hand_written_events.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;

/// 24 SMs of four blocks; memory for a kernel of 5000 bytes per microsecond and block on five SMs.
Device device_of_24() {
  Device device = small_device(24);
  device.off_sm.dram = {100e9};
  return device;
}

Launch memory_bound(std::int64_t blocks) {
  Launch launch = launch_of(blocks, 1000, "memory");
  launch.kernel.cost.off_sm = Bytes{5000};
  return launch;
}

Launch compute_bound(std::int64_t blocks) { return launch_of(blocks, 1000, "compute"); }

int sms_of(const Plan& plan, int launch, int sms) {
  int owned = 0;
  for (const Share& share : plan.shares) {
    if (share.launch != operation(launch)) continue;
    for (int sm = 0; sm < sms; ++sm) owned += share.quota.at(static_cast<SmId>(sm)) > 0;
  }
  return owned;
}

/// SMs of two launches in every plan that names both, without repetitions.
std::vector<std::pair<int, int>> partitions(const Trace& trace, int first, int second) {
  std::vector<std::pair<int, int>> found;
  for (const Decision& decision : trace.decisions) {
    const std::pair parts(sms_of(decision.plan, first, 24), sms_of(decision.plan, second, 24));
    if (parts.first == 0 || parts.second == 0) continue;
    if (found.empty() || found.back() != parts) found.push_back(parts);
  }
  return found;
}

TEST(CdSearch, HandsTheSmsThatTheMemoryBoundDoesNotNeedToTheComputeBound) {
  const Trace trace = record(device_of_24(), workload_of({memory_bound(20'000), compute_bound(60'000)}), "cd-search");
  EXPECT_EQ(partitions(trace, 0, 1).front(), std::pair(12, 12));
  EXPECT_EQ(partitions(trace, 0, 1).back(), std::pair(6, 18));
}

TEST(CdSearch, ItIsFasterThanAnEvenSplit) {
  const Workload pair = workload_of({memory_bound(20'000), compute_bound(120'000)});
  EXPECT_LT(static_cast<double>(length_of(record(device_of_24(), pair, "cd-search"))),
            0.92 * static_cast<double>(length_of(record(device_of_24(), pair, "even"))));
}

TEST(CdSearch, LeavesSmsIdleWhereAllAreMemoryBound) {
  const Trace trace = record(device_of_24(), workload_of({memory_bound(20'000), memory_bound(20'000)}), "cd-search");
  const auto [first, second] = partitions(trace, 0, 1).back();
  EXPECT_LE(first + second, 7);
  const Trace even = record(device_of_24(), workload_of({memory_bound(20'000), memory_bound(20'000)}), "even");
  EXPECT_LT(static_cast<double>(length_of(trace)), 1.1 * static_cast<double>(length_of(even)));
}

TEST(CdSearch, ProfilesSpareTheTests) {
  const Workload pair = workload_of({memory_bound(20'000), compute_bound(60'000)});
  for (const std::string profile : {"off-line", "equations"}) {
    const auto parts = partitions(record(device_of_24(), pair, "cd-search:profile=" + profile), 0, 1);
    EXPECT_EQ(parts.at(1), std::pair(10, 12)) << profile;  // nothing is taken from the compute-bound one
    for (const auto& [first, second] : parts) EXPECT_GE(second, 12) << profile;
  }
}

// Section 4.2 stalls SMs in steps of two: of twelve 10, 8, 6... are tried, also where the first of them is a test.
TEST(CdSearch, TriesTheStepsOfThePaper) {
  const Workload pair = workload_of({memory_bound(20'000), compute_bound(60'000)});
  for (const auto& [first, second] : partitions(record(device_of_24(), pair, "cd-search"), 0, 1)) {
    EXPECT_EQ(first % 2, 0) << first;
  }
}

TEST(CdSearch, UnprofiledKernelsAreTestedEvenOffLine) {
  Workload pair = workload_of({memory_bound(20'000), compute_bound(60'000)});
  for (Application& each : pair.applications) std::get<Launch>(each.operations.front()).kernel.is_profiled = false;
  EXPECT_EQ(record(device_of_24(), pair, "cd-search:profile=off-line").decisions,
            record(device_of_24(), pair, "cd-search").decisions);
}

TEST(CdSearch, TheSearchGoesOnAcrossLaunches) {
  // Launches of some 40 us, of which the search needs several windows of 25 us each.
  Workload loops{.name = "loops"};
  loops.applications = {application_of("memory", std::vector<Operation>(30, memory_bound(800))),
                        application_of("compute", std::vector<Operation>(30, compute_bound(2000)))};
  const Trace trace = record(device_of_24(), loops, "cd-search");
  std::set<int> parts_of_memory;
  for (const Decision& decision : trace.decisions) {
    if (decision.plan.shares.size() < 2) continue;
    for (int launch = 0; launch < 30; ++launch) parts_of_memory.insert(sms_of(decision.plan, launch, 24));
  }
  parts_of_memory.erase(0);
  EXPECT_EQ(*parts_of_memory.begin(), 4);  // what had to be tried to know that six are needed, by twos
  EXPECT_TRUE(parts_of_memory.contains(6));
}

TEST(CdSearch, AnArrivalBeginsANewSearchAndADepartureGivesBackAll) {
  const Workload three =
      workload_of({memory_bound(40'000), compute_bound(40'000), compute_bound(4'000)}, {0, 0, 300'000});
  const Trace trace = record(device_of_24(), three, "cd-search");
  const auto arrival = events_of(trace, EventKind::LaunchArrived, 2).front().time;
  for (const Decision& decision : trace.decisions) {
    const Event& event = trace.events[decision.after_event];
    if (event.time != arrival || event.kind != EventKind::LaunchArrived) continue;
    for (int launch = 0; launch < 3; ++launch) EXPECT_EQ(sms_of(decision.plan, launch, 24), 8);
  }
  EXPECT_EQ(trace.decisions.back().plan.shares.size(), 1U);
  EXPECT_TRUE(trace.decisions.back().plan.shares.front().quota.is_uniform());
}

TEST(CdSearch, BetweenTwoLaunchesThePartitionStays) {
  PolicyRehearsal run("cd-search", small_device(4), workload_of({launch_of(9, 100), launch_of(9, 100)}));
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.end_launch(0, 1000);
  EXPECT_EQ(run.quotas(1), (std::vector<int>{0, 0, 4, 4}));
  EXPECT_EQ(ns(run.plan().wake_at.value()), 6000);  // unless nothing follows
}

TEST(CdSearch, ALateEventSetsNoWakeUpInThePast) {
  PolicyRehearsal run("cd-search", small_device(4),
                      workload_of({launch_of(9, 100), launch_of(9, 100), launch_of(9, 100)}));
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.end_launch(0, 1'000'000);  // windows take 25 us
  EXPECT_EQ(ns(run.plan().wake_at.value()), 1'000'001);
}

TEST(CdSearch, PlansChangeAtTheEndOfWindowsOnly) {
  const Trace trace = record(device_of_24(), workload_of({memory_bound(20'000), compute_bound(60'000)}), "cd-search");
  EXPECT_LT(trace.decisions.size(), 60U);
  for (const Decision& decision : trace.decisions) {
    const EventKind kind = trace.events[decision.after_event].kind;
    EXPECT_TRUE(kind != EventKind::BlockStarted && kind != EventKind::BlockEnded);
  }
}

TEST(CdSearch, BlocksReportedInGroupsGiveTheSamePlans) {
  const Workload pair = workload_of({memory_bound(20'000), compute_bound(60'000)});
  const Trace trace = record(device_of_24(), pair, "cd-search");
  const auto again = decide_again(in_groups(trace), device_of_24(), pair, *make_policy("cd-search"));
  ASSERT_EQ(again.size(), trace.decisions.size());
  for (std::size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].plan, trace.decisions[i].plan) << i;
}

TEST(CdSearch, OptionsAreChecked) {
  const auto said = [](const char* name) { return message_of<InvalidInput>([&] { make_policy(name); }); };
  EXPECT_THAT(said("cd-search:mode=fast"), naming("mode", "auto", "performance", "power", "fast"));
  EXPECT_THAT(said("cd-search:profile=maybe"), naming("profile", "on-line", "off-line", "maybe"));
  EXPECT_THAT(said("cd-search:rate_loss_share=2"), naming("rate_loss_share", "0..1", 2));
  EXPECT_THAT(said("cd-search:stpe=2"), naming("stpe"));
  EXPECT_EQ(said("cd-search:mode=power:profile=off-line:step=4:rate_loss_share=0.02:window_ns=100_000"), "");
}

}  // namespace
}  // namespace gpushare
