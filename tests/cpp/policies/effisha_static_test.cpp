// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/priorities/requests.hpp"
#include "hand_written_events.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

/// Applications a, b, c... of one launch each, with these priorities.
Workload with_priorities(const std::vector<int>& priorities) {
  Workload workload = workload_of(std::vector<Launch>(priorities.size(), launch_of(40, 100)));
  for (std::size_t i = 0; i < priorities.size(); ++i) workload.applications[i].priority = priorities[i];
  return workload;
}

TEST(EffishaStatic, TheHighestPriorityHasTheGpuToItself) {
  PolicyRehearsal run("effisha-static", small_device(2), with_priorities({1, 5, 3}));
  for (int launch = 0; launch < 3; ++launch) run.arrive(launch, launch);
  EXPECT_THAT(run.order(), ElementsAre(1));
  EXPECT_THAT(run.quotas(1), ElementsAre(4, 4));
}

TEST(EffishaStatic, AHigherPriorityTakesOverAndEqualsWait) {
  PolicyRehearsal run("effisha-static", small_device(), with_priorities({2, 2, 3}));
  run.arrive(0, 0);
  run.arrive(1, 10);
  EXPECT_THAT(run.order(), ElementsAre(0));
  run.arrive(2, 20);
  EXPECT_THAT(run.order(), ElementsAre(2));
  run.end_launch(2, 30);
  EXPECT_THAT(run.order(), ElementsAre(0));
  run.end_launch(0, 40);
  EXPECT_THAT(run.order(), ElementsAre(1));
}

TEST(EffishaStatic, LeftoverIsAnOption) {
  PolicyRehearsal run("effisha-static:queue_gets_leftover=yes", small_device(), with_priorities({1, 5, 3}));
  for (int launch = 0; launch < 3; ++launch) run.arrive(launch, launch);
  EXPECT_THAT(run.order(), ElementsAre(1, 2, 0));
}

TEST(EffishaStatic, StreamsOfOneApplicationRunTogether) {
  Workload workload = with_priorities({1, 5, 5});
  workload.applications[1].name = "alice/1";
  workload.applications[2].name = "alice/2";
  PolicyRehearsal run("effisha-static", small_device(), workload);
  for (int launch = 0; launch < 3; ++launch) run.arrive(launch, launch);
  EXPECT_THAT(run.order(), ElementsAre(1, 2));
  run.end_launch(1, 10);
  EXPECT_THAT(run.order(), ElementsAre(2));
}

// The server names applications so: "alice/1@1" is client 1's. A client may have '@' and '/' in names of its own.
TEST(EffishaStatic, StreamsOfTwoClientsAreNotOfOneApplication) {
  Workload workload = with_priorities({5, 1, 5, 1});
  const std::vector<std::string> names = {"alice/1@1", "alice/x@2", "alice@1", "alice@1/y@2"};
  for (std::size_t i = 0; i < names.size(); ++i) workload.applications[i].name = names[i];
  PolicyRehearsal run("effisha-static", small_device(), workload);
  for (int launch = 0; launch < 4; ++launch) run.arrive(launch, launch);
  EXPECT_THAT(run.order(), ElementsAre(0, 2));
  run.end_launch(0, 10);
  run.end_launch(2, 11);
  EXPECT_THAT(run.order(), ElementsAre(1));
}

TEST(EffishaStatic, APriorityChangesForOneClientAlone) {
  Workload workload = with_priorities({1, 1, 1});
  workload.applications[0].name = "alice/1@1";
  workload.applications[1].name = "alice/1@2";
  workload.applications[2].name = "alice/2@2";
  PolicyRehearsal run("effisha-static", small_device(), workload);
  for (int launch = 0; launch < 3; ++launch) run.arrive(launch, launch);
  EXPECT_THAT(run.order(), ElementsAre(0));
  run.change_priority(1, 5, 10);
  EXPECT_THAT(run.order(), ElementsAre(1, 2));
}

// a's second launch arrives as its first one ends, and b, of the same priority, has come in between.
TEST(EffishaStatic, AnApplicationKeepsTheGpuFromLaunchToLaunch) {
  Workload workload;
  workload.applications = {application_of("a", {launch_of(4, 100), launch_of(4, 100)}),
                           application_of("b", {launch_of(4, 100)}, 50)};
  const Trace trace = record(small_device(), workload, "effisha-static");
  EXPECT_EQ(end_of(trace, 1), 200);
  EXPECT_EQ(end_of(trace, 2), 300);
}

// Four blocks of 100 ns at a time. b arrives at 150, in the second wave, and begins when that ends.
TEST(EffishaStatic, EvictsAtBlockBoundaryAndResumes) {
  Workload workload = workload_of({launch_of(16, 100), launch_of(8, 30)}, {0, 150});
  workload.applications[1].priority = 1;
  const Trace trace = record(small_device(), workload, "effisha-static");
  EXPECT_EQ(block_starts(trace, 1).front(), 200);
  EXPECT_EQ(end_of(trace, 1), 260);
  EXPECT_EQ(end_of(trace, 0), 460);
}

}  // namespace
}  // namespace gpushare
