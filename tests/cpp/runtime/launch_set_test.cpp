// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "fake_launches.hpp"
#include "times.hpp"

namespace gpushare {
namespace {

using test::at_us;

using testing::ElementsAre;
using testing::IsEmpty;

class LaunchSetTest : public testing::Test {
 protected:
  void submit(int operation, int application) {
    launches.submit(test::FakeHardware::submission(operation, application), now);
  }
  Share everything(int operation) const {
    return {.launch = OperationId{operation}, .quota = Quota::everywhere(hardware.traits.max_residency)};
  }
  void plan(std::vector<Share> shares) {
    launches.apply(shares);
    if (launches.plan_is_due()) launches.put_into_effect(now);
  }
  std::vector<OperationId> take_ends() {
    std::vector<OperationId> ends;
    while (!events.empty()) {
      const Event event = events.take();
      if (event.kind != EventKind::LaunchEnded) continue;
      ends.push_back(event.operation);
      launches.reported_end(event.operation);
    }
    return ends;
  }
  std::vector<std::string> take_log() { return std::exchange(hardware.log, {}); }
  /// Launch 2, announced and queued behind launch 1 of the same application.
  test::FakeLaunch& queue_behind_first() {
    launches.announce(test::FakeHardware::submission(2, 1));
    hardware.launch(1).may_be_followed = true;
    launches.queue_successors(now);
    return static_cast<test::FakeLaunch&>(const_cast<GpuLaunch&>(*hardware.launch(1).successor()));
  }

  Time now = at_us(0);
  test::FakeLaunch* last_successor = nullptr;
  test::FakeHardware hardware;
  DrainRequests drains{Duration(3'600'000'000'000)};
  EventBuffer events;
  PollSchedule polls;
  LaunchSet launches{hardware, drains, events, polls};
};

TEST_F(LaunchSetTest, LaunchesStartInRankOrderOnceAPlanHasThem) {
  hardware.traits.blocks = 1;  // so that there is room for both
  submit(1, 1);
  submit(2, 2);
  launches.hand_to_hardware(now);
  EXPECT_THAT(take_log(), IsEmpty());
  plan({everything(2), everything(1)});
  EXPECT_THAT(take_log(), ElementsAre("start 2 at level 2", "start 1 at level 2"));
}

TEST_F(LaunchSetTest, LaunchesKnowHowManyHaveAShareBesideThem) {
  hardware.better_mode = ExecutionMode::Original;
  for (const int number : {1, 2, 3}) submit(number, number);
  plan({everything(1), everything(2)});
  EXPECT_EQ(hardware.launch(2).sharers(), 2) << "the third one has none";
  plan({everything(2)});
  EXPECT_EQ(hardware.launch(2).sharers(), 2) << "it may have waited while the first one had a share";
}

TEST_F(LaunchSetTest, EqualPlanDoesNothing) {
  submit(1, 1);
  plan({everything(1)});
  EXPECT_FALSE(launches.plan_is_due());
  launches.apply({everything(1)});
  EXPECT_FALSE(launches.plan_is_due());
  launches.apply({});
  EXPECT_TRUE(launches.plan_is_due());
}

TEST_F(LaunchSetTest, LaunchThatThePlanNamesAlreadyMakesItDue) {
  launches.apply({everything(1)});
  launches.put_into_effect(now);
  submit(2, 2);
  EXPECT_FALSE(launches.plan_is_due());
  submit(1, 1);
  EXPECT_TRUE(launches.plan_is_due());
}

TEST_F(LaunchSetTest, LaunchThatThePlanLeavesOutIsEvicted) {
  submit(1, 1);
  plan({everything(1)});
  take_log();
  plan({});
  EXPECT_EQ(take_log().front(), "evict 1");
  EXPECT_FALSE(hardware.launch(1).may_start);
}

TEST_F(LaunchSetTest, EndIsReportedWithItsTime) {
  submit(1, 1);
  plan({everything(1)});
  hardware.launch(1).end_grids();
  now = at_us(50);
  launches.collect(now);
  ASSERT_FALSE(events.empty());
  const Event end = events.take();
  EXPECT_EQ(end.operation, OperationId{1});
  EXPECT_EQ(end.application, ApplicationId{1});
  EXPECT_EQ(end.time, at_us(50));
  EXPECT_FALSE(launches.is_busy());
}

TEST_F(LaunchSetTest, ReportedEndMakesThePlanDueForTheOthers) {
  submit(1, 1);
  plan({everything(1)});
  hardware.launch(1).end_grids();
  launches.collect(now);
  EXPECT_FALSE(launches.plan_is_due());
  take_ends();
  EXPECT_TRUE(launches.plan_is_due());
}

TEST_F(LaunchSetTest, AnnouncedLaunchIsQueuedBehindAndThenSubmitted) {
  submit(1, 1);
  plan({everything(1)});
  test::FakeLaunch& next = queue_behind_first();
  hardware.launch(1).end_grids();
  launches.collect(now);
  EXPECT_THAT(take_ends(), ElementsAre(OperationId{1}));
  EXPECT_FALSE(launches.is_busy());  // a successor that was not submitted is none of its launches
  submit(2, 1);
  EXPECT_TRUE(launches.is_busy());
  EXPECT_TRUE(launches.plan_is_due());
  next.end_grids();
  launches.collect(now);
  EXPECT_THAT(take_ends(), ElementsAre(OperationId{2}));
}

TEST_F(LaunchSetTest, NothingIsQueuedBehindWhileALaunchWaits) {
  submit(1, 1);
  submit(3, 3);
  plan({everything(1)});
  launches.announce(test::FakeHardware::submission(2, 1));
  hardware.launch(1).may_be_followed = true;
  launches.queue_successors(now);
  EXPECT_EQ(hardware.launch(1).successor(), nullptr);
}

TEST_F(LaunchSetTest, WithdrawnLaunchEndsOnceItHasLeft) {
  submit(1, 1);
  plan({everything(1)});
  launches.withdraw(OperationId{1}, now);
  EXPECT_EQ(take_log().back(), "evict 1");
  EXPECT_THAT(take_ends(), IsEmpty());
  hardware.launch(1).end_grids(false);
  launches.collect(now);
  EXPECT_THAT(take_ends(), ElementsAre(OperationId{1}));
}

TEST_F(LaunchSetTest, WithdrawnLaunchThatNeverBeganEndsAtOnce) {
  submit(1, 1);
  launches.withdraw(OperationId{1}, now);
  EXPECT_THAT(take_ends(), ElementsAre(OperationId{1}));
}

TEST_F(LaunchSetTest, EndIsHeldUntilTheSuccessorOfAWithdrawnApplicationHasLeft) {
  submit(1, 1);
  plan({everything(1)});
  test::FakeLaunch& next = queue_behind_first();
  hardware.launch(1).end_grids();
  launches.collect(now);  // its end is seen, and not reported yet
  launches.withdraw(OperationId{1}, now);
  EXPECT_TRUE(launches.is_leaving(OperationId{2}));
  EXPECT_THAT(take_ends(), IsEmpty());
  next.end_grids(false);
  launches.collect(now);
  EXPECT_THAT(take_ends(), ElementsAre(OperationId{1}));
  EXPECT_FALSE(launches.is_leaving(OperationId{2}));
}

TEST_F(LaunchSetTest, AdmittedLaunchRunsInItsOriginalFormAheadOfAll) {
  submit(1, 1);
  plan({everything(1)});
  submit(2, 2);
  take_log();
  launches.admit(OperationId{2}, now);
  EXPECT_EQ(hardware.launch(2).mode(), ExecutionMode::Original);
  EXPECT_THAT(take_log(), ElementsAre("start 2 at level 1"));
  plan({everything(1)});  // which does not name it
  EXPECT_TRUE(hardware.launch(2).may_start);
  hardware.launch(2).end_grids();
  launches.collect(now);
  EXPECT_THAT(take_ends(), ElementsAre(OperationId{2}));
  EXPECT_FALSE(launches.plan_is_due());  // its SMs are reserved for the next one
}

TEST_F(LaunchSetTest, SoManyAdmittedLaunchesRunAtATime) {
  for (int operation = 1; operation <= admitted_at_once + 1; ++operation) {
    submit(operation, operation);
    launches.admit(OperationId{operation}, now);
  }
  EXPECT_EQ(take_log().size(), static_cast<std::size_t>(admitted_at_once));
  EXPECT_FALSE(launches.is_idle(now));
  hardware.launch(1).end_grids();
  launches.collect(now);
  launches.hand_to_hardware(now);
  EXPECT_EQ(take_log().size(), 1u);
}

TEST_F(LaunchSetTest, ModeChangesUntilALaunchHasBegun) {
  submit(1, 1);
  hardware.better_mode = ExecutionMode::Original;
  plan({everything(1)});
  EXPECT_EQ(hardware.launch(1).mode(), ExecutionMode::Original);
  EXPECT_EQ(hardware.launch(1).rank(), 0);
  hardware.better_mode = ExecutionMode::Worker;
  plan({{.launch = OperationId{1}, .quota = Quota::everywhere(1)}});
  EXPECT_EQ(hardware.launch(1).mode(), ExecutionMode::Original);
}

TEST_F(LaunchSetTest, AtMostTwentyLaunchesAreOnTheHardware) {
  std::vector<Share> shares;
  for (int operation = 1; operation <= 30; ++operation) {
    submit(operation, operation);
    shares.push_back({.launch = OperationId{operation}, .quota = Quota::everywhere(1)});
  }
  hardware.better_mode = ExecutionMode::Original;  // these ignore that there is no place for them
  plan(shares);
  EXPECT_EQ(take_log().size(), ResidencyArbiter::most_on_hardware);
}

TEST_F(LaunchSetTest, DrainEvictsAllAndResumesWithThePlan) {
  submit(1, 1);
  plan({everything(1)});
  take_log();
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    const Drain drain = drains.ask();
    while (!is_over) std::this_thread::yield();
  });
  while (!drains.is_wanted()) std::this_thread::yield();
  launches.check_drain(at_us(1));
  EXPECT_THAT(take_log(), ElementsAre("evict 1"));
  hardware.launch(1).end_grids(false);
  launches.collect(at_us(2));
  launches.check_drain(at_us(3));  // now the thread has its drain
  EXPECT_FALSE(launches.is_idle(at_us(3)));
  is_over = true;
  other.join();
  launches.check_drain(at_us(4));
  EXPECT_THAT(take_log(), ElementsAre("start 1 at level 2"));
}

TEST_F(LaunchSetTest, PollNeedFollowsTheLaunches) {
  EXPECT_FALSE(launches.poll_need().any_running);
  submit(1, 1);
  plan({everything(1)});
  EXPECT_TRUE(launches.poll_need().any_running);
  EXPECT_FALSE(launches.poll_need().any_unsettled);
  hardware.launch(1).is_unsettled = true;
  EXPECT_TRUE(launches.poll_need().any_unsettled);
  events.seen().resize(1);
  EXPECT_TRUE(launches.poll_need().events_wait);
}

TEST_F(LaunchSetTest, EventsOfAPollAreInOrderOfTime) {
  for (const int operation : {1, 2}) submit(operation, operation);
  plan({everything(1), everything(2)});
  const auto started = [](int operation, std::int64_t us) {
    return Event{.time = at_us(us), .operation = OperationId{operation}, .kind = EventKind::BlockStarted};
  };
  hardware.launch(1).found_by_poll = {started(1, 11), started(1, 15)};
  hardware.launch(2).found_by_poll = {started(2, 12), started(2, 14)};
  launches.observe(at_us(20));
  std::vector<Time> times;
  for (const Event& event : events.seen()) times.push_back(event.time);  // before take(), which mends any order
  EXPECT_THAT(times, ElementsAre(at_us(11), at_us(12), at_us(14), at_us(15)));
}

TEST_F(LaunchSetTest, TimesOfLaunchesInARowAreLearnt) {
  for (int operation = 1; operation <= 6; ++operation) {
    launches.announce(test::FakeHardware::submission(operation + 1, 1));
    if (operation == 1) submit(1, 1);
    plan({everything(operation)});
    // The first is made by the hardware, the others are successors.
    test::FakeLaunch* launch = operation == 1 ? &hardware.launch(1) : last_successor;
    launch->may_be_followed = true;
    launches.announce(test::FakeHardware::submission(operation + 1, 1));
    launches.queue_successors(now);
    last_successor = static_cast<test::FakeLaunch*>(const_cast<GpuLaunch*>(launch->successor()));
    launch->end_grids();
    now = now + Duration(100'000);
    launches.collect(now);
    take_ends();
    submit(operation + 1, 1);
  }
  EXPECT_TRUE(hardware.history().original_may_be_faster(hardware.traits.kernel, 2, true));
}

TEST_F(LaunchSetTest, StopEvictsAllIncludingSuccessors) {
  submit(1, 1);
  plan({everything(1)});
  test::FakeLaunch& next = queue_behind_first();
  take_log();
  launches.stop(now);
  EXPECT_TRUE(launches.is_busy());
  hardware.launch(1).end_grids(false);
  next.end_grids(false);
  launches.collect(now);
  EXPECT_FALSE(launches.is_busy());
}

class PartsOfGrids : public LaunchSetTest {
 protected:
  PartsOfGrids() { hardware.traits.part = part.get(); }

  std::shared_ptr<SharedGrid> grid = std::make_shared<SharedGrid>(1000, 0, nullptr, [] {});
  std::shared_ptr<GridPart> part = grid->add_part();
};

TEST_F(PartsOfGrids, PartThatMustLeaveIsEvictedAndEnds) {
  submit(1, 1);
  plan({everything(1)});
  EXPECT_TRUE(launches.waits_for_devices());
  take_log();
  grid->leave(0);
  launches.collect(now);
  EXPECT_THAT(take_log(), ElementsAre("evict 1"));
  EXPECT_THAT(take_ends(), IsEmpty());
  hardware.launch(1).end_grids(false);
  launches.collect(now);
  EXPECT_THAT(take_ends(), ElementsAre(OperationId{1}));
  EXPECT_FALSE(launches.waits_for_devices());
}

TEST_F(PartsOfGrids, PartThatMustLeaveBeforeItHasBegunEndsAtOnceAndIsNotLost) {
  submit(1, 1);
  grid->leave(0);
  launches.collect(now);
  EXPECT_THAT(take_ends(), ElementsAre(OperationId{1}));
  part.reset();
  EXPECT_EQ(grid->lost_part(), std::nullopt);
}

TEST_F(PartsOfGrids, BlocksThatAreExpectedAreToldWhereTheyChange) {
  const auto other = grid->add_part();
  other->begin([] {});
  const int places = hardware.traits.max_residency * hardware.device().sms;
  other->expected({.claimed = 200, .workers = places, .places = places});
  submit(1, 1);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.take().block, 400);
  other->expected({.claimed = 210, .workers = places, .places = places});
  launches.observe(now);
  EXPECT_TRUE(events.empty());
  other->expected({.claimed = 210, .workers = 0, .places = places});
  launches.observe(now);
  ASSERT_FALSE(events.empty());
  const Event event = events.take();
  EXPECT_EQ(event.kind, EventKind::BlocksExpected);
  EXPECT_EQ(event.operation, OperationId{1});
  EXPECT_EQ(event.block, 790);
  other->end();
}

TEST_F(PartsOfGrids, WaitsInVainUnlessSomethingHappens) {
  EXPECT_TRUE(launches.waits_in_vain());
  EXPECT_FALSE(launches.is_known_to_wait());
  submit(1, 1);
  EXPECT_FALSE(launches.is_known_to_wait());
  EXPECT_FALSE(launches.waits_in_vain());
  EXPECT_TRUE(launches.is_known_to_wait());
  launches.goes_on();
  EXPECT_FALSE(launches.is_known_to_wait());
  EXPECT_FALSE(launches.waits_in_vain());
  EXPECT_TRUE(launches.waits_in_vain());
}

TEST_F(PartsOfGrids, AdmittedPartRunsAsWorkersAllTheSame) {
  hardware.better_mode = ExecutionMode::Original;
  submit(1, 1);
  launches.admit(OperationId{1}, now);
  EXPECT_EQ(hardware.launch(1).mode(), ExecutionMode::Worker);
  ASSERT_TRUE(launches.plan_is_due());
  launches.put_into_effect(now);
  EXPECT_THAT(take_log(), ElementsAre("start 1 at level 2"));
}

}  // namespace
}  // namespace gpushare
