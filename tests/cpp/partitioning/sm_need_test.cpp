// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/sm_need.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace gpushare {
namespace {

using testing::ElementsAre;

/// The SMs that are tried until the need is known; the last one is the answer.
std::vector<int> tried(SmNeed& need, const std::function<double(int)>& rate) {
  std::vector<int> sms;
  while (!need.finished()) {
    sms.push_back(need.sms());
    need.measured(rate(need.sms()));
    if (sms.size() > 200) throw std::logic_error("it does not end");
  }
  sms.push_back(need.sms());
  return sms;
}

/// In proportion up to so many SMs.
std::function<double(int)> saturating_at(int sms) {
  return [sms](int given) { return std::min(given, sms) * 1.0; };
}

TEST(SteppedDown, WithStepsOfTwoItIsThePapersSearch) {
  SteppedDown need(12, 6, {.step = 2, .rate_loss = 0.05});
  EXPECT_THAT(tried(need, saturating_at(6)), ElementsAre(10, 8, 6, 4, 6));
}

TEST(SteppedDown, ALossOfExactlyTheThresholdIsAccepted) {
  SteppedDown need(12, 100, {.step = 2, .rate_loss = 0.05});
  EXPECT_THAT(tried(need, [](int sms) { return sms >= 8 ? 95.0 : 94.9; }), ElementsAre(10, 8, 6, 8));
}

TEST(SteppedDown, AnApplicationThatLosesWithTheFirstStepKeepsItsEvenPart) {
  SteppedDown need(12, 12, {.step = 2, .rate_loss = 0.05});
  EXPECT_THAT(tried(need, saturating_at(24)), ElementsAre(10, 12));
}

TEST(SteppedDown, LargeStepsAreHalvedWhereTheyLoseTooMuch) {
  SteppedDown need(66, 33, {.step = 10, .rate_loss = 0});
  EXPECT_THAT(tried(need, saturating_at(33)), ElementsAre(56, 46, 36, 26, 32, 34, 34));
}

TEST(SteppedDown, ItBeginsWithWhatIsKnown) {
  SteppedDown need(12, 4, {.step = 2, .rate_loss = 0.05});
  need.begin_at(9, 4);
  EXPECT_THAT(tried(need, saturating_at(4)), ElementsAre(7, 5, 3, 5));
}

TEST(SteppedDown, AHigherRateOnFewerSmsCorrectsTheFirstOne) {
  SteppedDown need(12, 3, {.step = 2, .rate_loss = 0.05});  // cold caches: it was 6 in truth
  EXPECT_THAT(tried(need, saturating_at(6)), ElementsAre(10, 8, 6, 4, 6));
}

TEST(SteppedUp, OneSmThenWhatItsRateSuggests) {
  SteppedUp need(12, 5, {});
  EXPECT_THAT(tried(need, saturating_at(5)), ElementsAre(1, 5, 5));
}

TEST(SteppedUp, ASuggestionIsRoundedUp) {
  SteppedUp need(12, 4.2, {});
  EXPECT_THAT(tried(need, [](int sms) { return std::min(sms * 1.0, 4.2); }), ElementsAre(1, 5, 5));
}

TEST(SteppedUp, OneMoreAtATimeUntilTheRateIsKept) {
  SteppedUp need(12, 5, {.step = 2, .rate_loss = 0.05});
  // Two SMs and more are slower together than one suggests.
  EXPECT_THAT(tried(need, [](int sms) { return sms == 1 ? 1 : std::min(sms * 0.7, 5.0); }), ElementsAre(1, 5, 6, 7, 7));
}

TEST(SteppedUp, NeverMoreThanAnEvenPart) {
  SteppedUp need(12, 12, {});
  EXPECT_THAT(tried(need, [](int sms) { return sms * 0.5; }), ElementsAre(1, 12));
}

}  // namespace
}  // namespace gpushare
