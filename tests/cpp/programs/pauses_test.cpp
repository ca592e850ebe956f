// SPDX-License-Identifier: Apache-2.0
#include "programs/pauses.hpp"

#include <gtest/gtest.h>

namespace gpushare::programs {
namespace {

using namespace std::chrono_literals;

constexpr Duration longest = 3ms;

class PausesTest : public testing::Test {
 protected:
  /// Pauses of this length, with so much work before each.
  void pause(Duration length, int times = 1, Duration work = 10ms) {
    for (int i = 0; i < times; ++i) {
      launched_ += work;
      pauses.begin(Time(1s));
      pauses.end(Time(1s) + length, launched_, longest);
    }
  }

  Pauses pauses;

 private:
  Duration launched_{};
};

TEST_F(PausesTest, AreNotWaitedThroughBeforeMostOfThemWereShort) {
  EXPECT_FALSE(pauses.are_to_be_waited_through());
  pause(1ms, 5);
  EXPECT_FALSE(pauses.are_to_be_waited_through());
  pause(1ms, 10);
  EXPECT_TRUE(pauses.are_to_be_waited_through());
}

TEST_F(PausesTest, ALongOneNowAndThenChangesNothing) {
  pause(1ms, 50);
  for (int step = 0; step < 50; ++step) {
    pause(100ms);
    EXPECT_TRUE(pauses.are_to_be_waited_through());
    pause(1ms, 5);
  }
}

TEST_F(PausesTest, AreNotWaitedThroughAfterManyLongOnes) {
  pause(1ms, 50);
  pause(longest, 20);
  EXPECT_FALSE(pauses.are_to_be_waited_through());
}

TEST_F(PausesTest, AreNotWaitedThroughWhereTheyAreLongerThanTheWorkBetweenThem) {
  pause(2ms, 50, 1ms);
  EXPECT_FALSE(pauses.are_to_be_waited_through());
  pause(2ms, 50, 3ms);
  EXPECT_TRUE(pauses.are_to_be_waited_through());
}

TEST_F(PausesTest, CountOnce) {
  pause(1ms, 50);
  pauses.begin(Time(1s));
  for (int again = 0; again < 50; ++again) pauses.end(Time(1h), 1h, longest);
  EXPECT_TRUE(pauses.are_to_be_waited_through());
}

}  // namespace
}  // namespace gpushare::programs
