// SPDX-License-Identifier: Apache-2.0
#include "core/workers/top_up.hpp"

#include <gtest/gtest.h>

#include "times.hpp"

namespace gpushare {
namespace {

using test::at_us;

TEST(TopUp, PatienceDoublesWithEveryTryUpToAMillisecond) {
  TopUp top_up;
  top_up.restart(at_us(0));
  std::int64_t now = 0;
  for (const std::int64_t wait : {10, 20, 40, 80, 160, 320, 640, 1000, 1000}) {
    EXPECT_TRUE(top_up.may_ask(at_us(now)));
    top_up.asked(at_us(now));
    EXPECT_FALSE(top_up.may_ask(at_us(now + wait - 1))) << wait;
    now += wait;
  }
  top_up.restart(at_us(now - 500));
  EXPECT_TRUE(top_up.may_ask(at_us(now - 500)));
}

TEST(TopUp, DeviceSaysHowLongToWait) {
  TopUp top_up({.first_top_up_patience = Duration(3'000), .longest_top_up_patience = Duration(5'000)});
  top_up.restart(at_us(0));
  std::int64_t now = 0;
  for (const std::int64_t wait : {3, 5, 5}) {
    top_up.asked(at_us(now));
    EXPECT_FALSE(top_up.may_ask(at_us(now + wait - 1))) << wait;
    now += wait;
    EXPECT_TRUE(top_up.may_ask(at_us(now))) << wait;
  }
}

TEST(TopUp, FirstTryOfAnotherWaitsTheShortestTime) {
  TopUp top_up;
  top_up.asked_first(at_us(100));
  EXPECT_FALSE(top_up.may_ask(at_us(109)));
  EXPECT_TRUE(top_up.may_ask(at_us(110)));
}

TEST(TopUp, TriesGrowUntilNoneIsMissing) {
  TopUp top_up;
  top_up.granted(1);
  const WorkerDemand one{.wanted = 1, .missing = 1, .lacking_sms = 1};
  EXPECT_EQ(top_up.next(one, 100, 2), 1);
  EXPECT_EQ(top_up.next(one, 100, 2), 4);
  top_up.none_is_missing();
  EXPECT_EQ(top_up.next(one, 100, 2), 1);
}

TEST(TopUp, WorkersAreSpreadOverOpenSms) {
  TopUp top_up;
  top_up.granted(10);
  EXPECT_EQ(top_up.open_sms(), 10);
  EXPECT_EQ(top_up.next({.wanted = 4, .missing = 4, .lacking_sms = 2}, 100, 2), 20);
}

}  // namespace
}  // namespace gpushare
