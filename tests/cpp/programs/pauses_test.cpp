// SPDX-License-Identifier: Apache-2.0
#include "programs/pauses.hpp"

#include <gtest/gtest.h>

namespace gpushare::programs {
namespace {

using namespace std::chrono_literals;

constexpr Duration longest = 3ms;

void pause(Pauses& pauses, Duration length, int times = 1) {
  for (int i = 0; i < times; ++i) {
    pauses.begin(Time(1s));
    pauses.end(Time(1s) + length, longest);
  }
}

TEST(Pauses, AreNotShortBeforeMostOfThemWere) {
  Pauses pauses;
  EXPECT_FALSE(pauses.are_mostly_short());
  pause(pauses, 1ms, 5);
  EXPECT_FALSE(pauses.are_mostly_short());
  pause(pauses, 1ms, 10);
  EXPECT_TRUE(pauses.are_mostly_short());
}

TEST(Pauses, ALongOneNowAndThenChangesNothing) {
  Pauses pauses;
  pause(pauses, 1ms, 50);
  for (int step = 0; step < 50; ++step) {
    pause(pauses, 100ms);
    EXPECT_TRUE(pauses.are_mostly_short());
    pause(pauses, 1ms, 5);
  }
}

TEST(Pauses, AreLongWhereAProgramHasBecomeAnother) {
  Pauses pauses;
  pause(pauses, 1ms, 50);
  pause(pauses, longest, 20);
  EXPECT_FALSE(pauses.are_mostly_short());
}

TEST(Pauses, CountOnce) {
  Pauses pauses;
  pause(pauses, 1ms, 50);
  pauses.begin(Time(1s));
  for (int again = 0; again < 50; ++again) pauses.end(Time(1h), longest);
  EXPECT_TRUE(pauses.are_mostly_short());
}

}  // namespace
}  // namespace gpushare::programs
