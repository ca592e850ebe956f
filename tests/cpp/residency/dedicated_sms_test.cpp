// SPDX-License-Identifier: Apache-2.0
#include "core/residency/dedicated_sms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpushare {
namespace {

using testing::ElementsAre;

constexpr std::size_t sm_count = 8;  // of which two may be emptied

ResidencyRequest brief(std::int64_t blocks) {
  return {.wanted = std::vector<int>(sm_count, 4),
          .present = std::vector<int>(sm_count, 0),
          .unclaimed = blocks,
          .is_brief = true};
}

ResidencyRequest resident(bool leaves_soon) {
  return {.wanted = std::vector<int>(sm_count, 2),
          .present = std::vector<int>(sm_count, 2),
          .unclaimed = 1000,
          .leaves_soon = leaves_soon};
}

TEST(DedicatedSms, AShortLaunchHasAsFewSmsEmptiedAsHoldIt) {
  std::vector<ResidencyRequest> launches{brief(5), resident(true)};
  request_dedicated_sms(launches);
  EXPECT_THAT(launches[0].wanted, ElementsAre(0, 0, 0, 0, 0, 0, 4, 4));
  EXPECT_EQ(launches[0].unclaimed, 8);
  EXPECT_EQ(launches[1], resident(true));
}

TEST(DedicatedSms, EachLaunchTakesOtherSmsAndWaitsIfThereAreNone) {
  std::vector<ResidencyRequest> launches{brief(1), brief(3), brief(2), resident(true)};
  request_dedicated_sms(launches);
  EXPECT_THAT(launches[0].wanted, ElementsAre(0, 0, 0, 0, 0, 0, 0, 4));
  EXPECT_THAT(launches[1].wanted, ElementsAre(0, 0, 0, 0, 0, 0, 4, 0));
  EXPECT_THAT(launches[2].wanted, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(launches[2].unclaimed, 0);
}

TEST(DedicatedSms, BehindLongBlocksAPlaceIsBetter) {
  std::vector<ResidencyRequest> launches{brief(5), resident(true), resident(false)};
  request_dedicated_sms(launches);
  EXPECT_EQ(launches[0], brief(5));
}

TEST(DedicatedSms, NotOnSmsOfALaunchOfHigherRank) {
  ResidencyRequest before = resident(false);
  before.present = {2, 2, 2, 2, 0, 0, 2, 0};
  std::vector<ResidencyRequest> launches{before, brief(5), resident(true)};
  request_dedicated_sms(launches);
  EXPECT_THAT(launches[1].wanted, ElementsAre(0, 0, 0, 0, 0, 4, 0, 4));
}

TEST(DedicatedSms, NorWhereItMayNotRun) {
  ResidencyRequest launch = brief(5);
  launch.wanted = {4, 4, 4, 4, 4, 4, 4, 0};
  std::vector<ResidencyRequest> launches{launch, resident(true)};
  request_dedicated_sms(launches);
  EXPECT_THAT(launches[0].wanted, ElementsAre(0, 0, 0, 0, 0, 4, 4, 0));
}

TEST(DedicatedSms, AnAbsentLaunchIsIgnored) {
  ResidencyRequest not_there = resident(false);
  not_there.present.assign(sm_count, 0);
  std::vector<ResidencyRequest> launches{brief(5), resident(true), not_there};
  request_dedicated_sms(launches);
  EXPECT_EQ(launches[0].unclaimed, 8);
}

TEST(DedicatedSms, BehindAnInvisibleLaunchASlotIsBetter) {
  ResidencyRequest unseen = resident(false);
  unseen.present.assign(sm_count, 0);
  unseen.is_seen = false;
  std::vector<ResidencyRequest> launches{brief(5), resident(true), unseen};
  request_dedicated_sms(launches);
  EXPECT_EQ(launches[0], brief(5));
}

TEST(DedicatedSms, NoLaunchLeavesWhileOtherSmsAreIdle) {
  ResidencyRequest half = resident(true);
  half.present = {0, 0, 0, 0, 2, 2, 2, 2};
  std::vector<ResidencyRequest> launches{brief(5), half};
  request_dedicated_sms(launches);
  EXPECT_EQ(launches[0], brief(5));
}

TEST(DedicatedSms, WhereTooFewCanBeEmptiedAPlaceIsBetter) {
  ResidencyRequest before = resident(false);
  before.present = {2, 2, 2, 2, 2, 2, 2, 0};
  std::vector<ResidencyRequest> launches{before, brief(5), resident(true)};
  request_dedicated_sms(launches);
  EXPECT_EQ(launches[1], brief(5));
}

TEST(DedicatedSms, OneThatNeedsMoreThanAPlaceOnEverySmIsNotSmall) {
  std::vector<ResidencyRequest> launches{brief(8), resident(true)};
  request_dedicated_sms(launches);
  EXPECT_EQ(launches[0], brief(8));
}

TEST(DedicatedSms, NoOtherLaunchHasAny) {
  ResidencyRequest seen = brief(5);
  seen.is_brief = false;
  std::vector<ResidencyRequest> launches{seen, resident(true)};
  request_dedicated_sms(launches);
  EXPECT_EQ(launches[0], seen);
}

}  // namespace
}  // namespace gpushare
