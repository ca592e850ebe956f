// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/dispatch_schedule.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

constexpr SmId first_sm{0};
constexpr SmId second_sm{1};

TEST(DispatchSchedule, LooksAtSingleSmsUnlessItLooksEverywhere) {
  DispatchSchedule schedule(2, 0);
  EXPECT_TRUE(schedule.is_done());
  schedule.look_at(second_sm);
  EXPECT_FALSE(schedule.is_done());
  EXPECT_FALSE(schedule.take_everywhere());
  EXPECT_EQ(schedule.freed(), std::vector{second_sm});
  schedule.look_everywhere();
  EXPECT_TRUE(schedule.take_everywhere());
  EXPECT_FALSE(schedule.take_everywhere());
  schedule.clear_freed();
  EXPECT_TRUE(schedule.is_done());
}

TEST(DispatchSchedule, BlocksOfOneSmKeepTheIntervalAndThoseOfOthersDoNot) {
  DispatchSchedule schedule(2, 10);
  EXPECT_TRUE(schedule.begin_block(first_sm, 100));
  EXPECT_FALSE(schedule.begin_block(first_sm, 109.5));
  EXPECT_TRUE(schedule.begin_block(second_sm, 109.5));
  EXPECT_TRUE(schedule.begin_block(first_sm, 110));
  EXPECT_FALSE(schedule.begin_block(first_sm, 119));
}

TEST(DispatchSchedule, OneTimerAtATimeWaitsForAnSm) {
  DispatchSchedule schedule(1, 10);
  schedule.begin_block(first_sm, 5);
  EXPECT_EQ(schedule.ask_for_timer(first_sm), 15);
  EXPECT_EQ(schedule.ask_for_timer(first_sm), std::nullopt);
  schedule.timer_ended(first_sm);
  EXPECT_EQ(schedule.freed(), std::vector{first_sm});
  EXPECT_EQ(schedule.ask_for_timer(first_sm), 15);
}

TEST(DispatchSchedule, WithoutAnIntervalBlocksStartAtOnce) {
  DispatchSchedule schedule(1, 0);
  for (int block = 0; block < 3; ++block) EXPECT_TRUE(schedule.begin_block(first_sm, 7));
}

}  // namespace
}  // namespace gpushare
