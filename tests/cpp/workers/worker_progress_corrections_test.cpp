// SPDX-License-Identifier: Apache-2.0
// A block that was reported because a worker was there, and that nobody ran.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/workers/worker_progress.hpp"
#include "observed_launch.hpp"

namespace gpushare {
namespace {

using namespace test;

/// A worker came, was looked at, and had to leave before it had found anything to do.
ObservedLaunch with_a_block_that_nobody_runs() {
  ObservedLaunch launch(10, 2);
  launch.progress().launched(2, at(0));
  launch.look(claimed(4), Table{sm_with(1, 1), sm_with(1, 1, 2, 20)}, at(100));
  EXPECT_EQ(launch.on(0).resident, 1);
  return launch;
}

TEST(WorkerProgressCorrections, AnUnclaimedBlockEndsWhenAllWorkersAreKnown) {
  ObservedLaunch launch = with_a_block_that_nobody_runs();
  const auto events = launch.look(claimed(6, 1), Table{sm_with(0, 0), sm_with(1, 1, 3, 30)}, at(200));
  EXPECT_EQ(launch.on(0).resident, 0);
  EXPECT_EQ(launch.on(1).resident, 1);
  const Event& end = *std::ranges::find(events, EventKind::BlockEnded, &Event::kind);
  EXPECT_EQ(end.sm, SmId{0});
  EXPECT_EQ(end.time - end.started, Duration(10)) << "the mean block time: predictors read it";
}

TEST(WorkerProgressCorrections, AnUnplacedWorkerMayRunTheBlock) {
  ObservedLaunch launch = with_a_block_that_nobody_runs();
  launch.look(claimed(4, 0), Table{sm_with(0, 0), sm_with(1, 1, 3, 30)}, at(200));
  EXPECT_EQ(launch.on(0).resident, 1);
}

TEST(WorkerProgressCorrections, InExchangeABlockThatEndsNextGoesUnreported) {
  ObservedLaunch launch = with_a_block_that_nobody_runs();
  launch.look(claimed(4, 1), Table{sm_with(0, 0), sm_with(1, 1, 3, 30)}, at(200));
  EXPECT_EQ(launch.launch().done, 4);  // three, and the one that nobody ran
  launch.look(claimed(6, 1), Table{sm_with(0, 0), sm_with(1, 1, 5, 50)}, at(300));
  EXPECT_EQ(launch.launch().done, 5);
  EXPECT_EQ(launch.on(1).resident, 1);
  launch.look(claimed(10, 2), Table{sm_with(0, 0), sm_with(1, 0, 10, 100)}, at(400));
  EXPECT_EQ(launch.on(0).done, 1);
  EXPECT_EQ(launch.on(1).done, 9);
}

TEST(WorkerProgressCorrections, WhatGoesUnreportedHasEndedAndDoesNotStillRun) {
  ObservedLaunch launch = with_a_block_that_nobody_runs();
  launch.look(claimed(4, 1), Table{sm_with(0, 0), sm_with(2, 1, 3, 30)}, at(200));
  launch.look(claimed(6, 1), Table{sm_with(0, 0), sm_with(2, 2, 3, 30)}, at(300));
  EXPECT_EQ(launch.on(1).resident, 2);
}

TEST(WorkerProgressCorrections, BeforeTheFirstBlockEndsItsTimeIsUnknown) {
  ObservedLaunch launch(10, 1);
  launch.progress().launched(1, at(0));
  launch.look(claimed(1), Table{sm_with(1, 1)}, at(100));
  EXPECT_TRUE(launch.look(claimed(1, 1), Table{sm_with(0, 0)}, at(200)).empty());
}

TEST(WorkerProgressCorrections, WithoutTheNumberOfWorkersLaunchedNothingIsCorrected) {
  ObservedLaunch launch(10, 2);
  launch.look(claimed(4), Table{sm_with(1, 1), sm_with(1, 0, 2, 20)}, at(100));
  EXPECT_TRUE(launch.look(claimed(4, 2), Table{sm_with(0, 0), sm_with(1, 0, 2, 20)}, at(200)).empty());
}

TEST(WorkerProgressCorrections, ABlockThatWasMissedAfterAllIsMadeUpFor) {
  ObservedLaunch launch(10, 1);
  launch.progress().launched(2, at(0));
  launch.look(claimed(4), Table{sm_with(2, 2, 2, 20)}, at(100));
  // The worker's going is seen before what it has done.
  launch.look(claimed(4, 1), Table{sm_with(2, 1, 2, 20)}, at(200));
  EXPECT_EQ(launch.on(0).resident, 1);
  launch.look(claimed(4, 1), Table{sm_with(2, 1, 3, 30)}, at(300));
  EXPECT_EQ(launch.launch().done, 3);
  EXPECT_EQ(launch.on(0).resident, 1);
}

TEST(WorkerProgressCorrections, OfALaunchThatIsWithdrawnNothingIsLeft) {
  ObservedLaunch launch(10, 1);
  launch.progress().launched(1, at(0));
  launch.look(claimed(1), Table{sm_with(1, 1)}, at(100));
  launch.look(claimed(1, 1), Table{sm_with(0, 0)}, at(200));  // gone, with nothing done that would tell a block's time
  ASSERT_EQ(launch.on(0).resident, 1);
  EXPECT_EQ(launch.end_rest(at(300)).size(), 1U);
  EXPECT_EQ(launch.on(0).resident, 0);
  EXPECT_TRUE(launch.end_rest(at(300)).empty());
}

}  // namespace
}  // namespace gpushare
