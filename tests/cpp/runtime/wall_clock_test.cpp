// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/wall_clock.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

TEST(WallClock, AnotherClockIsReadInPlaceOfTheHosts) {
  static int reads;
  reads = 5;
  const WallClock clock([] { return WallClock::Clock::time_point(std::chrono::nanoseconds(100 * reads++)); });
  EXPECT_EQ(clock.elapsed(), Time{});
  EXPECT_EQ(clock.elapsed(), Time(Duration(100)));
  EXPECT_EQ(clock.began(), WallClock::Clock::time_point(std::chrono::nanoseconds(500)));
}

TEST(WallClock, StartsWhenItIsFirstRead) {
  const WallClock clock;
  EXPECT_EQ(clock.elapsed(), Time{});
  EXPECT_LE(clock.began(), WallClock::Clock::now());
  const Time before = clock.elapsed();
  EXPECT_LE(before, clock.elapsed());
}

}  // namespace
}  // namespace gpushare
