// SPDX-License-Identifier: Apache-2.0
#include "core/workers/worker_progress.hpp"

#include <gtest/gtest.h>

#include "observed_launch.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(WorkerProgress, BeforeTheFirstReportThereAreNoEvents) {
  ObservedLaunch launch(10, 2);
  EXPECT_EQ(launch.progress().done(), 0);
  EXPECT_EQ(launch.progress().unclaimed(), 10);
  EXPECT_EQ(launch.progress().block_time(), Duration{});
  EXPECT_FALSE(launch.progress().finished());
  EXPECT_TRUE(launch.look({}, Table{sm_with(4, 0), sm_with(4, 0)}, at(10)).empty());
}

TEST(WorkerProgress, AWorkerThatIsPresentIsARunningBlock) {
  ObservedLaunch launch(10, 2);
  const auto events = launch.look(claimed(5), Table{sm_with(4, 3), sm_with(4, 2)}, at(10));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0], (Event{.time = at(10), .started = at(10), .blocks = 3, .kind = EventKind::BlockStarted}));
  EXPECT_EQ(events[1].block, 3);
  EXPECT_EQ(events[1].blocks, 2);
  EXPECT_EQ(events[1].sm, SmId{1});
  EXPECT_EQ(launch.progress().workers(), 5);
  EXPECT_EQ(launch.progress().workers_by_sm()[1], 2);
}

TEST(WorkerProgress, MoreWorkersMayHaveGoneThanTheyCanCount) {
  ObservedLaunch launch(10, 1);
  const Table nobody{sm_with(2, 0)};
  std::int64_t gone = 0;
  for (int time = 0; time < 10; ++time) {
    gone += 2'000'000'000;
    launch.look(claimed(0, static_cast<std::uint32_t>(gone)), nobody, at(10 * time));
    EXPECT_EQ(launch.progress().workers_gone(), gone);
  }
}

TEST(WorkerProgress, WhatWasDoneHasStartedAndEnded) {
  ObservedLaunch launch(10, 1);
  launch.look(claimed(2), Table{sm_with(2, 2)}, at(100));
  const auto events = launch.look(claimed(7), Table{sm_with(2, 2, 5, 150)}, at(200));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, EventKind::BlockStarted);
  EXPECT_EQ(events[0].blocks, 5);
  EXPECT_EQ(events[1], (Event{.time = at(200), .started = at(170), .blocks = 5, .kind = EventKind::BlockEnded}));
  EXPECT_EQ(launch.on(0).resident, 2);
  EXPECT_EQ(launch.progress().block_time(), Duration(30));
}

TEST(WorkerProgress, TheDurationOfAGroupIsThatOfItsOwnBlocks) {
  ObservedLaunch launch(100, 2);
  launch.look(claimed(20), Table{sm_with(1, 1, 4, 400), sm_with(1, 1, 4, 800)}, at(1000));
  const auto events = launch.look(claimed(40), Table{sm_with(1, 1, 6, 440), sm_with(1, 1, 4, 800)}, at(2000));
  ASSERT_EQ(events.back().kind, EventKind::BlockEnded);
  EXPECT_EQ(events.back().started, at(1980));
  EXPECT_EQ(launch.progress().block_time(), Duration(124));
}

TEST(WorkerProgress, TimeThatIsCountedBeforeItsTasksWaitsForThem) {
  ObservedLaunch launch(100, 1);
  launch.look(claimed(20), Table{sm_with(1, 1, 2, 200)}, at(1000));
  launch.look(claimed(20), Table{sm_with(1, 1, 2, 500)}, at(2000));
  const auto events = launch.look(claimed(20), Table{sm_with(1, 1, 3, 500)}, at(3000));
  EXPECT_EQ(events.back().started, at(2700));
}

TEST(WorkerProgress, TasksThatAreCountedBeforeTheirTimeTakeTheMean) {
  ObservedLaunch launch(100, 1);
  launch.look(claimed(20), Table{sm_with(1, 1, 2, 300)}, at(1000));
  const auto events = launch.look(claimed(20), Table{sm_with(1, 1, 3, 300)}, at(2000));
  EXPECT_EQ(events.front().time, at(1900));
  EXPECT_EQ(events.back().started, at(1900));
}

TEST(WorkerProgress, BlocksBetweenTwoReportsTookTimeWithAllSlotsInUse) {
  ObservedLaunch launch(100, 1);
  launch.look(claimed(1), Table{sm_with(4, 0)}, at(1000));
  const auto events = launch.look(claimed(8), Table{sm_with(4, 0, 8, 800)}, at(2000));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].time, at(1800));
  EXPECT_EQ(launch.on(0).active(at(5000)), Duration(200));
}

TEST(WorkerProgress, FewerBlocksThanPlacesRunSideBySide) {
  ObservedLaunch launch(100, 1);
  const auto events = launch.look(claimed(8), Table{sm_with(8, 0, 2, 800)}, at(2000));
  EXPECT_EQ(events[0].time, at(1600));
}

TEST(WorkerProgress, StartsAreByTimeAndNotBeforeTheLastReport) {
  ObservedLaunch launch(100, 3);
  launch.look(claimed(1), Table{sm_with(1, 0), sm_with(1, 0), sm_with(1, 0)}, at(1000));
  const Table table{sm_with(1, 0, 1, 100), sm_with(1, 0, 1, 5000), sm_with(1, 0, 2, 600)};
  const auto events = launch.look(claimed(4), table, at(2000));
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[0].sm, SmId{1});
  EXPECT_EQ(events[0].time, at(1000));
  EXPECT_EQ(events[1].sm, SmId{2});
  EXPECT_EQ(events[1].time, at(1400));
  EXPECT_EQ(events[2].sm, SmId{0});
  EXPECT_EQ(events[2].time, at(1900));
  EXPECT_EQ(events[2].block, 3);
  for (std::size_t end = 3; end < 6; ++end) EXPECT_EQ(events[end].time, at(2000));
}

TEST(WorkerProgress, NothingStartsBeforeWorkersCameToAnEmptyGpu) {
  ObservedLaunch launch(100, 1);
  launch.progress().launched(1, at(900));
  EXPECT_EQ(launch.look(claimed(9), Table{sm_with(1, 0, 1, 500)}, at(1000))[0].time, at(900));
}

TEST(WorkerProgress, WorkersThatCameLaterDoNotMoveTheStartsOfOthers) {
  ObservedLaunch launch(100, 1);
  launch.progress().launched(1, at(100));
  launch.progress().launched(1, at(900));
  EXPECT_EQ(launch.look(claimed(9), Table{sm_with(2, 0, 1, 500)}, at(1000))[0].time, at(500));
}

TEST(WorkerProgress, NewcomersBeyondTheQuotaRunNothing) {
  ObservedLaunch launch(100, 1);
  launch.look(claimed(2), Table{sm_with(2, 7)}, at(10));
  EXPECT_EQ(launch.on(0).resident, 2);
}

TEST(WorkerProgress, NewcomersWithoutAPlaceRunNothing) {
  ObservedLaunch launch(100, 1);
  EXPECT_TRUE(launch.look(claimed(2), Table{sm_with(0, 7)}, at(10)).empty());
}

TEST(WorkerProgress, NoMoreRunsThanWasClaimed) {
  ObservedLaunch launch(100, 2);
  launch.look(claimed(3), Table{sm_with(8, 8), sm_with(8, 8)}, at(10));
  EXPECT_EQ(launch.launch().started, 3);
}

TEST(WorkerProgress, NewcomersFindNothingWhenAllIsClaimedAndReported) {
  ObservedLaunch launch(8, 2);
  launch.look(claimed(8), Table{sm_with(8, 8), sm_with(8, 0)}, at(10));
  launch.look(claimed(8), Table{sm_with(8, 4, 4, 40), sm_with(8, 3)}, at(20));
  EXPECT_EQ(launch.on(0).resident, 4);
  EXPECT_EQ(launch.on(1).resident, 0);
}

TEST(WorkerProgress, AGridClaimedBeforeTheFirstReportHasBegun) {
  ObservedLaunch launch(3, 2);
  launch.progress().launched(3, at(0));
  const auto events = launch.look(claimed(3), Table{sm_with(4, 2), sm_with(4, 1)}, at(10));
  EXPECT_EQ(events.size(), 2U);
  EXPECT_EQ(launch.on(0).resident, 2);
  EXPECT_EQ(launch.on(1).resident, 1);
}

/// Seven workers share what is claimed and not done, ahead of their present blocks.
TEST(WorkerProgress, AWorkerWithClaimsRunsABlockAfterTheLastClaim) {
  ObservedLaunch launch(20, 2);
  launch.look(claimed(20), Table{sm_with(8, 4, 8, 80), sm_with(8, 3)}, at(10));
  EXPECT_EQ(launch.launch().started, 15);
  EXPECT_EQ(launch.on(0).resident, 4);
  EXPECT_EQ(launch.on(1).resident, 3);
}

TEST(WorkerProgress, NoMoreBlocksBeginThanWereClaimed) {
  ObservedLaunch launch(5, 2);
  launch.look(claimed(5), Table{sm_with(8, 4), sm_with(8, 4)}, at(10));
  EXPECT_EQ(launch.launch().started, 5);
}

/// The control block is read first.
TEST(WorkerProgress, WhatIsDoneWasClaimedEvenIfThatIsSeenLater) {
  ObservedLaunch launch(4, 1);
  launch.look(claimed(2), Table{sm_with(2, 0, 4, 40)}, at(10));
  EXPECT_EQ(launch.launch().done, 4);
}

TEST(WorkerProgress, AWorkerToldToLeaveRunsUntilItHasLeft) {
  ObservedLaunch launch(100, 1);
  launch.look(claimed(8), Table{sm_with(4, 4)}, at(10));
  launch.look(claimed(8), Table{sm_with(0, 4, 2, 20)}, at(20));
  EXPECT_EQ(launch.on(0).resident, 4);
  launch.look(claimed(8), Table{sm_with(0, 1, 6, 60)}, at(30));
  EXPECT_EQ(launch.on(0).resident, 1);
  launch.look(claimed(8), Table{sm_with(0, 0, 8, 80)}, at(40));
  EXPECT_EQ(launch.on(0).resident, 0);
  EXPECT_EQ(launch.on(0).done, 8);
}

TEST(WorkerProgress, AWorkerGivesItsPlaceBackWhileItsLastBlockRuns) {
  ObservedLaunch launch(100, 1);
  launch.progress().launched(2, at(0));
  launch.look(claimed(2), Table{sm_with(2, 2)}, at(10));
  launch.look(claimed(3, 0), Table{sm_with(0, 0, 1, 10)}, at(20));
  EXPECT_EQ(launch.on(0).resident, 1);
}

TEST(WorkerProgress, TheLastBlocksRunOnWhenNothingIsLeftToClaim) {
  ObservedLaunch launch(8, 1);
  launch.look(claimed(6), Table{sm_with(4, 4)}, at(10));
  launch.look(claimed(8), Table{sm_with(4, 4, 4, 40)}, at(20));
  EXPECT_EQ(launch.on(0).resident, 4);
  launch.look(claimed(8), Table{sm_with(4, 0, 8, 80)}, at(30));
  EXPECT_EQ(launch.on(0).resident, 0);
  EXPECT_TRUE(launch.progress().finished());
}

TEST(WorkerProgress, AtTheEndWhatWasReportedHereCountsHere) {
  ObservedLaunch launch(4, 2);
  launch.look(claimed(2), Table{sm_with(2, 2), sm_with(2, 0)}, at(10));
  launch.look(claimed(4), Table{sm_with(2, 0), sm_with(2, 0, 4, 40)}, at(20));
  EXPECT_EQ(launch.on(0).done, 2);
  EXPECT_EQ(launch.on(1).done, 2);
  EXPECT_TRUE(launch.progress().finished());
}

TEST(WorkerProgress, TheSameCountersAgainSayNothingNew) {
  ObservedLaunch launch(10, 1);
  const Table table{sm_with(2, 2, 3, 30)};
  launch.look(claimed(5), table, at(100));
  EXPECT_TRUE(launch.look(claimed(5), table, at(200)).empty());
}

TEST(WorkerProgress, AWorkerIsResidentUntilItsLastReport) {
  using enum WorkerProgress::Report;
  ObservedLaunch launch(1000, 2);
  launch.progress().launched(2, at(0));
  const auto look = [&](WorkerControl control, OrderedSm first, std::uint32_t done_on_second, int time) {
    const Table table{first, sm_with(1, 1, done_on_second, 100 * done_on_second)};
    return launch.look(snapshot(control, table), at(time), time == 500 ? Everything : Changes);
  };
  look(claimed(12), sm_with(1, 1, 5, 500), 5, 500);
  look(claimed(13), sm_with(0, 0, 5, 500), 6, 600);
  EXPECT_EQ(launch.on(0).resident, 1);
  look(claimed(14, 1), sm_with(0, 0, 6, 600), 7, 700);
  EXPECT_EQ(launch.on(0).resident, 0);
  EXPECT_TRUE(look(claimed(15, 1), sm_with(0, 0, 6, 600), 8, 800).empty()) << "nothing but progress";
}

TEST(WorkerProgress, TimeDoesNotGoBack) {
  ObservedLaunch launch(10, 1);
  launch.look(claimed(1), Table{sm_with(1, 1)}, at(100));
  std::vector<Event> events;
  const Snapshot seen = snapshot(claimed(3), {sm_with(1, 1, 1, 10)});
  launch.progress().observe(seen.look(), at(90), events);
  for (const Event& event : events) EXPECT_EQ(event.time, at(100));
}

TEST(WorkerProgress, AWholeLaunchIsSpreadEvenly) {
  ObservedLaunch launch(7, 3);
  const auto events = launch.whole(at(100), at(300));
  ASSERT_EQ(events.size(), 6U);
  for (std::size_t sm = 0; sm < 3; ++sm) {
    EXPECT_EQ(events[sm].time, at(100));
    EXPECT_EQ(events[3 + sm].time, at(300));
    EXPECT_EQ(events[3 + sm].started, at(100));
    EXPECT_EQ(events[sm].blocks, events[3 + sm].blocks);
    EXPECT_NEAR(events[sm].blocks, 7 / 3.0, 1);
  }
  EXPECT_EQ(launch.launch().done, 7);
  EXPECT_EQ(launch.on(2).active(at(900)), Duration(200));
  EXPECT_TRUE(launch.progress().finished());
  EXPECT_EQ(launch.progress().done(), 7);
  EXPECT_EQ(launch.progress().unclaimed(), 0);
}

TEST(WorkerProgress, AWholeLaunchOfFewBlocksLeavesSmsOut) {
  ObservedLaunch launch(2, 5);
  EXPECT_EQ(launch.whole(at(1), at(2)).size(), 4U);
  EXPECT_EQ(launch.launch().done, 2);
}

TEST(WorkerProgress, WhatWasNotSeenAtTheEndIsSpreadAsWhatWas) {
  ObservedLaunch launch(100, 3);
  launch.progress().launched(6, at(0));
  launch.look(claimed(60), Table{sm_with(2, 2, 30, 3000), sm_with(2, 2, 10, 1000), sm_with(0, 0)}, at(2000));
  std::vector<Event> events;
  launch.progress().finish(at(4000), events);
  std::vector<std::int64_t> started(3);
  std::vector<std::int64_t> ended(3);
  for (const Event& event : events) {
    (event.kind == EventKind::BlockStarted ? started : ended)[index(event.sm)] += event.blocks;
    EXPECT_GE(event.time, at(2000));
    EXPECT_LE(event.time, at(4000));
  }
  EXPECT_EQ(ended, (std::vector<std::int64_t>{45, 15, 0}));  // of 75 and 25, 30 and 10 had ended
  EXPECT_EQ(started, (std::vector<std::int64_t>{43, 13, 0}));
  EXPECT_TRUE(launch.progress().finished());
  EXPECT_EQ(launch.progress().workers(), 0);
  EXPECT_EQ(launch.progress().block_time(), Duration(100));
}

TEST(WorkerProgress, AnUnobservedEndReportsEveryBlockOnce) {
  for (int seen = 1; seen <= 100; ++seen) {
    ObservedLaunch launch(100, 2);
    launch.progress().launched(4, at(0));
    const auto first = static_cast<std::uint32_t>(seen / 3);
    const auto second = static_cast<std::uint32_t>(seen) - first;
    auto events = launch.look(claimed(100), Table{sm_with(2, 2, first, 10), sm_with(2, 2, second, 10)}, at(2000));
    launch.progress().finish(at(3000), events);
    std::int64_t balance = 0;
    std::int64_t ended = 0;
    for (const Event& event : events) {
      if (event.kind == EventKind::BlockEnded) ended += event.blocks;
      balance += event.kind == EventKind::BlockStarted ? event.blocks : -event.blocks;
    }
    EXPECT_EQ(ended, 100) << seen;
    EXPECT_EQ(balance, 0) << seen;
  }
}

}  // namespace
}  // namespace gpushare
