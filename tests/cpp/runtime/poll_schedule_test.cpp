// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/poll_schedule.hpp"

#include <gtest/gtest.h>

#include "times.hpp"

namespace gpushare {
namespace {

using test::at_us;

constexpr PollNeed running{.any_running = true};
constexpr PollNeed unsettled{.any_unsettled = true, .any_running = true};

TEST(PollSchedule, NothingToSeeNeedsNoPoll) {
  const PollSchedule schedule;
  EXPECT_FALSE(schedule.is_due(at_us(1'000'000), {}));
}

TEST(PollSchedule, IntervalDoublesUpToHalfAMillisecondUntilSomethingChanges) {
  PollSchedule schedule;
  std::int64_t now = 0;
  for (const std::int64_t wait : {5, 10, 20, 40, 80, 160, 320, 500, 500}) {
    EXPECT_FALSE(schedule.is_due(at_us(now + wait - 1), running)) << wait;
    EXPECT_TRUE(schedule.is_due(at_us(now + wait), running)) << wait;
    now += wait;
    schedule.ended(at_us(now));
  }
  schedule.soon();
  EXPECT_TRUE(schedule.is_due(at_us(now + 5), running));
}

TEST(PollSchedule, UnsettledLaunchIsPolledForAgainAtOnceWhileThePolicyDecides) {
  PollSchedule schedule;
  for (int time = 0; time < 10; ++time) schedule.ended(at_us(100));
  EXPECT_FALSE(schedule.is_due(at_us(104), unsettled));
  EXPECT_TRUE(schedule.is_due(at_us(105), unsettled));
  EXPECT_TRUE(schedule.is_due(at_us(100), {.any_unsettled = true, .any_running = true, .events_wait = true}));
}

TEST(PollSchedule, PollIsLateEarlierWhereTheOtherReadHasAPlace) {
  PollSchedule schedule;
  schedule.started(at_us(100));
  EXPECT_EQ(schedule.started_at(), at_us(100));
  EXPECT_FALSE(schedule.is_late(at_us(139), false));
  EXPECT_TRUE(schedule.is_late(at_us(140), false));
  EXPECT_FALSE(schedule.is_late(at_us(124), true));
  EXPECT_TRUE(schedule.is_late(at_us(125), true));
}

TEST(PollSchedule, DeviceSaysHowLongToWait) {
  PollSchedule schedule({.shortest_poll_wait = Duration(2'000),
                         .longest_poll_wait = Duration(3'000),
                         .late_poll = Duration(70'000),
                         .late_poll_with_place = Duration(60'000)});
  std::int64_t now = 0;
  for (const std::int64_t wait : {2, 3, 3}) {
    EXPECT_FALSE(schedule.is_due(at_us(now + wait - 1), running)) << wait;
    EXPECT_TRUE(schedule.is_due(at_us(now + wait), running)) << wait;
    now += wait;
    schedule.ended(at_us(now));
  }
  schedule.started(at_us(100));
  EXPECT_FALSE(schedule.is_late(at_us(169), false));
  EXPECT_TRUE(schedule.is_late(at_us(170), false));
  EXPECT_FALSE(schedule.is_late(at_us(159), true));
  EXPECT_TRUE(schedule.is_late(at_us(160), true));
}

}  // namespace
}  // namespace gpushare
