// SPDX-License-Identifier: Apache-2.0
#include "core/workers/own_sms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpushare {
namespace {

using testing::ElementsAre;

constexpr std::size_t sm_count = 8;  // of which two may be emptied

RoomClaim fleeting(std::int64_t blocks) {
  return {.wanted = std::vector<int>(sm_count, 4),
          .present = std::vector<int>(sm_count, 0),
          .unclaimed = blocks,
          .is_fleeting = true};
}

RoomClaim resident(bool leaves_soon) {
  return {.wanted = std::vector<int>(sm_count, 2),
          .present = std::vector<int>(sm_count, 2),
          .unclaimed = 1000,
          .leaves_soon = leaves_soon};
}

TEST(OwnSms, AShortLaunchHasAsFewSmsEmptiedAsHoldIt) {
  std::vector<RoomClaim> launches{fleeting(5), resident(true)};
  claim_own_sms(launches);
  EXPECT_THAT(launches[0].wanted, ElementsAre(0, 0, 0, 0, 0, 0, 4, 4));
  EXPECT_EQ(launches[0].unclaimed, 8);
  EXPECT_EQ(launches[1], resident(true));
}

TEST(OwnSms, EachLaunchTakesOtherSmsAndWaitsIfThereAreNone) {
  std::vector<RoomClaim> launches{fleeting(1), fleeting(3), fleeting(2), resident(true)};
  claim_own_sms(launches);
  EXPECT_THAT(launches[0].wanted, ElementsAre(0, 0, 0, 0, 0, 0, 0, 4));
  EXPECT_THAT(launches[1].wanted, ElementsAre(0, 0, 0, 0, 0, 0, 4, 0));
  EXPECT_THAT(launches[2].wanted, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(launches[2].unclaimed, 0);
}

TEST(OwnSms, BehindLongBlocksAPlaceIsBetter) {
  std::vector<RoomClaim> launches{fleeting(5), resident(true), resident(false)};
  claim_own_sms(launches);
  EXPECT_EQ(launches[0], fleeting(5));
}

TEST(OwnSms, NotOnSmsOfALaunchOfHigherRank) {
  RoomClaim before = resident(false);
  before.present = {2, 2, 2, 2, 0, 0, 2, 0};
  std::vector<RoomClaim> launches{before, fleeting(5), resident(true)};
  claim_own_sms(launches);
  EXPECT_THAT(launches[1].wanted, ElementsAre(0, 0, 0, 0, 0, 4, 0, 4));
}

TEST(OwnSms, NorWhereItMayNotRun) {
  RoomClaim launch = fleeting(5);
  launch.wanted = {4, 4, 4, 4, 4, 4, 4, 0};
  std::vector<RoomClaim> launches{launch, resident(true)};
  claim_own_sms(launches);
  EXPECT_THAT(launches[0].wanted, ElementsAre(0, 0, 0, 0, 0, 4, 4, 0));
}

TEST(OwnSms, AnAbsentLaunchIsIgnored) {
  RoomClaim not_there = resident(false);
  not_there.present.assign(sm_count, 0);
  std::vector<RoomClaim> launches{fleeting(5), resident(true), not_there};
  claim_own_sms(launches);
  EXPECT_EQ(launches[0].unclaimed, 8);
}

TEST(OwnSms, BehindAnInvisibleLaunchASlotIsBetter) {
  RoomClaim unseen = resident(false);
  unseen.present.assign(sm_count, 0);
  unseen.is_seen = false;
  std::vector<RoomClaim> launches{fleeting(5), resident(true), unseen};
  claim_own_sms(launches);
  EXPECT_EQ(launches[0], fleeting(5));
}

TEST(OwnSms, NoLaunchLeavesWhileOtherSmsAreIdle) {
  RoomClaim half = resident(true);
  half.present = {0, 0, 0, 0, 2, 2, 2, 2};
  std::vector<RoomClaim> launches{fleeting(5), half};
  claim_own_sms(launches);
  EXPECT_EQ(launches[0], fleeting(5));
}

TEST(OwnSms, WhereTooFewCanBeEmptiedAPlaceIsBetter) {
  RoomClaim before = resident(false);
  before.present = {2, 2, 2, 2, 2, 2, 2, 0};
  std::vector<RoomClaim> launches{before, fleeting(5), resident(true)};
  claim_own_sms(launches);
  EXPECT_EQ(launches[1], fleeting(5));
}

TEST(OwnSms, OneThatNeedsMoreThanAPlaceOnEverySmIsNotSmall) {
  std::vector<RoomClaim> launches{fleeting(8), resident(true)};
  claim_own_sms(launches);
  EXPECT_EQ(launches[0], fleeting(8));
}

TEST(OwnSms, NoOtherLaunchHasAny) {
  RoomClaim seen = fleeting(5);
  seen.is_fleeting = false;
  std::vector<RoomClaim> launches{seen, resident(true)};
  claim_own_sms(launches);
  EXPECT_EQ(launches[0], seen);
}

}  // namespace
}  // namespace gpushare
