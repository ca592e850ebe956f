// SPDX-License-Identifier: Apache-2.0
#include "core/engine/state.hpp"

#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "hand_written_events.hpp"

namespace gpushare {
namespace {

using namespace test;

HandWrittenRun two_launches() { return {small_device(2), workload_of({launch_of(8, 100), launch_of(3, 100)})}; }

TEST(State, BeginsAtTimeZeroWithoutLaunches) {
  const HandWrittenRun run = two_launches();
  EXPECT_TRUE(run.state().running().empty());
  EXPECT_EQ(run.state().now(), Time{});
  EXPECT_EQ(run.state().find(OperationId{0}), nullptr);
}

TEST(State, AnArrivalIsWhatTheWorkloadSays) {
  Workload workload = workload_of({launch_of(8, 100)});
  workload.applications[0].priority = 7;
  workload.applications[0].weight = 2.5;
  HandWrittenRun run(small_device(2), workload);
  run.arrive(0, 40);
  const RunningLaunch& launch = run.running(0);
  EXPECT_EQ(launch.arrival, Time(Duration(40)));
  EXPECT_EQ(launch.blocks(), 8);
  EXPECT_EQ(launch.max_residency, 4);
  EXPECT_EQ(launch.priority, 7);
  EXPECT_EQ(launch.weight, 2.5);
}

TEST(State, RunningLaunchesAreInOrderOfArrival) {
  HandWrittenRun run = two_launches();
  run.arrive(1, 0);
  run.arrive(0, 10);
  ASSERT_EQ(run.state().running().size(), 2U);
  EXPECT_EQ(run.state().running()[0].id, OperationId{1});
  EXPECT_EQ(run.state().running()[1].id, OperationId{0});
}

TEST(State, CountsBlocksPerSm) {
  HandWrittenRun run = two_launches();
  run.arrive(0, 0);
  run.start_block(0, 1, 0);
  run.start_block(0, 1, 0);
  run.end_block(0, 1, 0, 100);
  const RunningLaunch& launch = run.running(0);
  EXPECT_EQ(launch.started, 2);
  EXPECT_EQ(launch.done, 1);
  EXPECT_EQ(launch.unstarted(), 6);
  EXPECT_EQ(launch.unfinished(), 7);
  EXPECT_EQ(launch.per_sm[0].resident, 0);
  EXPECT_EQ(launch.per_sm[1].resident, 1);
  EXPECT_EQ(launch.per_sm[1].done, 1);
}

TEST(State, ActiveTimeIsTheTimeWithAnyBlockResident) {
  HandWrittenRun run = two_launches();
  run.arrive(0, 0);
  run.start_block(0, 0, 10);
  run.start_block(0, 0, 20);
  run.end_block(0, 0, 10, 30);
  run.end_block(0, 0, 20, 50);
  run.run_block(0, 0, 60, 65);
  run.start_block(0, 0, 100);
  const SmProgress& sm = run.running(0).per_sm[0];
  EXPECT_EQ(sm.active(Time(Duration(103))), Duration(40 + 5 + 3));
  EXPECT_EQ(run.running(0).per_sm[1].active(Time(Duration(103))), Duration(0));
}

TEST(State, AGroupCountsAllItsBlocks) {
  HandWrittenRun run = two_launches();
  run.arrive(0, 0);
  run.start_group(0, 1, 4, 10);
  run.end_group(0, 1, 3, 10, 60);
  const RunningLaunch& launch = run.running(0);
  EXPECT_EQ(launch.started, 4);
  EXPECT_EQ(launch.done, 3);
  EXPECT_EQ(launch.per_sm[1].resident, 1);
  EXPECT_EQ(launch.per_sm[1].done, 3);
  EXPECT_EQ(launch.per_sm[1].active(Time(Duration(70))), Duration(60));
}

TEST(State, AnSmIsActiveFromTheStartOfAGroupToTheEndOfItsLastBlock) {
  HandWrittenRun run = two_launches();
  run.arrive(0, 0);
  run.start_group(0, 0, 3, 10);
  run.end_group(0, 0, 1, 10, 30);
  run.start_group(0, 0, 2, 35);
  run.end_group(0, 0, 4, 20, 80);
  EXPECT_EQ(run.running(0).per_sm[0].active(Time(Duration(100))), Duration(70));
}

TEST(State, ALaunchThatEndedIsGoneAndTheOthersStay) {
  HandWrittenRun run = two_launches();
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.end_launch(0, 100);
  EXPECT_EQ(run.state().find(OperationId{0}), nullptr);
  ASSERT_NE(run.state().find(OperationId{1}), nullptr);
  EXPECT_EQ(run.running(1).blocks(), 3);
}

TEST(State, ForeseesTheFirstLaunchOfAnArrivalInTheWindow) {
  const Workload workload = workload_of({launch_of(1, 1), launch_of(2, 1), launch_of(3, 1)}, {0, 100, 101});
  HandWrittenRun run(small_device(), workload);
  run.arrive(0, 0);
  const auto upcoming = run.state().first_launches_arriving_within(Duration(100));
  ASSERT_EQ(upcoming.size(), 1U);
  EXPECT_EQ(upcoming[0]->blocks, 2);
}

TEST(State, ForeseesNoLaunchBehindACopy) {
  const Workload workload{.applications = {application_of("a", {copy_to_device(1), launch_of(1, 1)})}};
  EXPECT_TRUE(HandWrittenRun(small_device(), workload).state().first_launches_arriving_within(Duration(10)).empty());
}

TEST(State, ABlockOfALaunchThatIsNotRunningIsABug) {
  HandWrittenRun run = two_launches();
  EXPECT_THROW(run.start_block(0, 0, 0), BrokenInvariant);
}

TEST(State, ALaunchArrivesOnce) {
  HandWrittenRun run = two_launches();
  run.arrive(0, 0);
  EXPECT_THROW(run.arrive(0, 10), BrokenInvariant);
}

}  // namespace
}  // namespace gpushare
