// SPDX-License-Identifier: Apache-2.0
#include "core/residency/arbitrate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace gpushare {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ge;

constexpr int sms = 4;

/// Eight blocks of 256 threads fill an SM.
Device four_small_sms() {
  Device device;
  device.name = "small";
  device.sms = sms;
  device.clock_hz = 1e9;
  device.per_sm = {.threads = 2048, .warps = 64, .blocks = 32, .registers = 65536, .shared_memory = Bytes{228 * 1024}};
  return device;
}

ResidencyRequest claim(std::vector<int> wanted, std::vector<int> present, std::int64_t unclaimed) {
  return {.block = footprint(four_small_sms(), {.threads = 256}),
          .wanted = std::move(wanted),
          .present = std::move(present),
          .unclaimed = unclaimed};
}

ResidencyRequest everywhere(int wanted, int present, std::int64_t unclaimed = 1000) {
  return claim(std::vector<int>(sms, wanted), std::vector<int>(sms, present), unclaimed);
}

std::vector<ResidencyGrant> room_for(std::vector<ResidencyRequest> launches) {
  return arbitrate(four_small_sms(), launches);
}

TEST(Arbitrate, OneLaunchMayHaveWhatItWants) { EXPECT_THAT(room_for({everywhere(8, 0)})[0].workers, Each(8)); }

TEST(Arbitrate, ALaunchOfLowerRankGivesWayToOneThatLacksRoom) {
  const auto allowed = room_for({everywhere(8, 0), everywhere(8, 8)});
  EXPECT_THAT(allowed[0].workers, Each(8));
  EXPECT_THAT(allowed[1].workers, Each(0));
}

TEST(Arbitrate, APlacedLaunchHoldsNoOtherBack) {
  EXPECT_THAT(room_for({everywhere(8, 8), everywhere(8, 0)})[1].workers, Each(8));
}

TEST(Arbitrate, OnlyAsMuchAsIsLacked) {
  EXPECT_THAT(room_for({everywhere(2, 0), everywhere(8, 8)})[1].workers, Each(6));
  EXPECT_THAT(room_for({claim({8, 0, 0, 0}, {0, 0, 0, 0}, 1000), everywhere(8, 8)})[1].workers,
              ElementsAre(0, 8, 8, 8));
}

TEST(Arbitrate, AFewTasksNeedLittleRoom) {
  EXPECT_THAT(room_for({everywhere(8, 0, 4), everywhere(8, 8)})[1].workers, Each(7));
  EXPECT_THAT(room_for({everywhere(8, 0, 5), everywhere(8, 8)})[1].workers, Each(6));
  EXPECT_THAT(room_for({everywhere(8, 0, 0), everywhere(8, 8)})[1].workers, Each(8));
}

TEST(Arbitrate, AFewTasksTakeUnwantedRoom) {
  const ResidencyRequest few = everywhere(8, 0, 3);
  EXPECT_THAT(room_for({few, claim({8, 8, 8, 0}, {8, 8, 8, 0}, 1000)})[1].workers, ElementsAre(8, 8, 8, 0));
  EXPECT_THAT(room_for({few, claim({8, 8, 8, 6}, {8, 8, 8, 6}, 1000)})[1].workers, Each(Ge(6)));
}

TEST(Arbitrate, AFewTasksDoNotWaitForRoomThatIsNotFreeYet) {
  const ResidencyRequest few = everywhere(8, 0, 3);
  EXPECT_THAT(room_for({few, claim({8, 8, 8, 0}, {8, 8, 8, 8}, 1000)})[1].workers, ElementsAre(7, 7, 7, 0));
  EXPECT_THAT(room_for({few, claim({8, 8, 8, 7}, {8, 8, 8, 0}, 1000)})[1].workers, Each(7));
}

/// Launches as they may be met anywhere, of a few sizes and splits.
std::vector<ResidencyRequest> random_claims(std::minstd_rand& random, std::size_t on_sms) {
  const auto below = [&random](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  std::vector<ResidencyRequest> launches;
  for (int count = 1 + below(6); count > 0; --count) {
    ResidencyRequest launch{.block = footprint(four_small_sms(), {.threads = 256 * (1 + below(3))}),
                            .wanted = std::vector<int>(on_sms, below(9)),
                            .present = std::vector<int>(on_sms, below(3)),
                            .unclaimed = below(3) == 0 ? 1000 : below(2 * static_cast<int>(on_sms)),
                            .split = Bytes{32 * 1024 * below(3)},
                            .is_seen = below(4) > 0};
    for (int change = below(4); change > 0; --change) launch.present[random() % on_sms] = below(4);
    for (int change = below(3); change > 0; --change) launch.wanted[random() % on_sms] = below(9);
    launches.push_back(std::move(launch));
  }
  return launches;
}

/// Who ranks last, has nothing and needs nothing is no concern of the others; but if it wants something else on each
/// SM, no two are alike.
TEST(Arbitrate, SmsThatAreAlikeAreSharedOutAsEachByItself) {
  Device device = four_small_sms();
  device.sms = 24;
  std::minstd_rand random(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<ResidencyRequest> launches = random_claims(random, 24);
    const std::vector<ResidencyGrant> together = arbitrate(device, launches);
    ResidencyRequest without_blocks{
        .wanted = std::vector<int>(24), .present = std::vector<int>(24), .split = Bytes{1 << 20}};
    std::iota(without_blocks.wanted.begin(), without_blocks.wanted.end(), 0);
    launches.push_back(without_blocks);
    const std::vector<ResidencyGrant> one_by_one = arbitrate(device, launches);
    for (std::size_t rank = 0; rank < together.size(); ++rank) {
      ASSERT_EQ(together[rank].workers, one_by_one[rank].workers) << "round " << round << ", rank " << rank;
      ASSERT_EQ(together[rank].open_sms, one_by_one[rank].open_sms) << "round " << round << ", rank " << rank;
    }
  }
}

TEST(Arbitrate, LaunchesOfAFewTasksShareTheRoomMadeForThem) {
  const ResidencyRequest one = everywhere(8, 0, 1);
  const ResidencyRequest big = everywhere(8, 8);
  EXPECT_THAT(room_for({one, one, one, one, big})[4].workers, Each(7));
  EXPECT_THAT(room_for({one, one, one, one, one, big})[5].workers, Each(6)) << "four SMs have no place for a fifth";
  EXPECT_THAT(room_for({one, one, big})[1].workers, Each(Ge(1))) << "they may come all the same";
}

TEST(Arbitrate, OnlyPlacesThatAreMadeAreShared) {
  const ResidencyRequest some_are_there = claim({8, 8, 8, 8}, {1, 1, 1, 0}, 1);
  const auto allowed = room_for({some_are_there, everywhere(8, 0, 3), claim({8, 8, 8, 8}, {7, 7, 7, 8}, 1000)});
  EXPECT_THAT(allowed[2].workers, Each(6)) << "one place is made for the first, and it needs that itself";
}

TEST(Arbitrate, ALaunchThatMayBeKeptOutHasSmsEmptied) {
  ResidencyRequest wide = everywhere(8, 0, 1);
  wide.split = Bytes{100 * 1024};
  const auto allowed = room_for({wide, wide, everywhere(8, 8)});
  EXPECT_THAT(allowed[2].workers, ElementsAre(6, 6, 6, 0));
}

TEST(Arbitrate, RoomForAFewTasksIsForThatKindOnly) {
  const ResidencyRequest one = everywhere(8, 0, 1);
  ResidencyRequest large = one;
  large.block = footprint(four_small_sms(), {.threads = 512});
  EXPECT_THAT(room_for({one, large, everywhere(8, 8)})[2].workers, Each(5));
  EXPECT_THAT(room_for({one, claim({8, 8, 8, 0}, {0, 0, 0, 0}, 1), everywhere(8, 8)})[2].workers,
              ElementsAre(6, 6, 6, 7));
}

TEST(Arbitrate, LaunchesOfAFewTasksTakeDifferentPlaces) {
  const ResidencyRequest big = claim({8, 8, 8, 4}, {8, 8, 8, 4}, 1000);
  const ResidencyRequest two = everywhere(8, 0, 2);
  EXPECT_THAT(room_for({two, two, big})[2].workers, ElementsAre(8, 8, 8, 4));
  EXPECT_THAT(room_for({two, two, two, big})[3].workers, ElementsAre(7, 7, 7, 4)) << "room for four";
}

TEST(Arbitrate, AFewTasksTakeNoMoreOfAnSmThanTheyAre) {
  const ResidencyRequest big = claim({8, 8, 8, 6}, {8, 8, 8, 6}, 1000);
  const ResidencyRequest one = everywhere(8, 0, 1);
  EXPECT_THAT(room_for({one, one, big})[2].workers, ElementsAre(8, 8, 8, 6));
}

TEST(Arbitrate, TakenSlotsAreNotTakenTwice) {
  const ResidencyRequest has_two = claim({8, 8, 8, 8}, {0, 0, 0, 2}, 2);
  const ResidencyRequest big = claim({8, 8, 8, 4}, {8, 8, 8, 4}, 1000);
  EXPECT_THAT(room_for({has_two, everywhere(8, 0, 2), big})[2].workers, ElementsAre(8, 8, 8, 4));
}

ResidencyRequest divided_for(std::int64_t kilobytes, ResidencyRequest claim) {
  claim.split = Bytes{kilobytes * 1024};
  return claim;
}

TEST(Arbitrate, ALaunchWithASmallerSharedMemorySplitLeavesCompletely) {
  const auto allowed = room_for({divided_for(64, everywhere(2, 0)), divided_for(16, everywhere(8, 8))});
  EXPECT_THAT(allowed[1].workers, Each(0));
}

TEST(Arbitrate, ALaunchWithAnEqualOrLargerSplitOnlyMakesRoom) {
  for (const int kilobytes : {16, 64}) {
    const auto allowed = room_for({divided_for(16, everywhere(2, 0)), divided_for(kilobytes, everywhere(8, 8))});
    EXPECT_THAT(allowed[1].workers, Each(6)) << kilobytes;
  }
}

TEST(Arbitrate, ALaunchThatLeftCompletelyReturnsBesideTheOther) {
  const auto allowed = room_for({divided_for(64, everywhere(2, 2)), divided_for(16, everywhere(8, 0))});
  EXPECT_THAT(allowed[1].workers, Each(8));
}

TEST(Arbitrate, AFewTasksEmptyAsManySmsAsHoldThem) {
  const auto allowed = room_for({divided_for(64, everywhere(2, 0, 3)), divided_for(16, everywhere(8, 8))});
  EXPECT_THAT(allowed[1].workers, ElementsAre(7, 7, 0, 0));
}

TEST(Arbitrate, TrailingSmsHeldByOthersAreNotCounted) {
  const ResidencyRequest few = divided_for(64, everywhere(2, 0, 3));
  const ResidencyRequest behind = divided_for(16, claim({8, 8, 0, 0}, {8, 8, 0, 0}, 1000));
  EXPECT_THAT(room_for({claim({0, 0, 8, 8}, {0, 0, 8, 8}, 1000), few, behind})[2].workers, Each(0));
  const ResidencyRequest with_busy_workers = divided_for(64, claim({2, 2, 2, 2}, {0, 0, 2, 2}, 3));
  EXPECT_THAT(room_for({with_busy_workers, divided_for(16, claim({6, 6, 6, 6}, {6, 6, 0, 0}, 1000))})[1].workers,
              ElementsAre(0, 0, 6, 6));
}

TEST(Arbitrate, NoLaunchLeavesAnSmWithASufficientSplit) {
  EXPECT_THAT(room_for({divided_for(64, everywhere(2, 1)), divided_for(16, everywhere(6, 6))})[1].workers, Each(6));
  const auto allowed = room_for(
      {divided_for(32, everywhere(2, 0)), divided_for(64, everywhere(3, 3)), divided_for(16, everywhere(8, 3))});
  EXPECT_THAT(allowed[1].workers, Each(3));
  EXPECT_THAT(allowed[2].workers, Each(3));
}

TEST(Arbitrate, NoLaunchLeavesForOneThatAHigherRankKeepsOut) {
  const auto allowed = room_for(
      {divided_for(16, everywhere(4, 4)), divided_for(64, everywhere(2, 0)), divided_for(16, everywhere(2, 2))});
  EXPECT_THAT(allowed[2].workers, Each(2));
}

TEST(Arbitrate, NoLaunchLeavesForOneWithoutAKnownPlace) {
  ResidencyRequest whole = divided_for(64, everywhere(2, 0));
  whole.is_seen = false;
  EXPECT_THAT(room_for({whole, divided_for(16, everywhere(4, 4))})[1].workers, Each(4));
}

TEST(Arbitrate, ALaunchThatLeftReturnsOnlyAfterTheOtherHasStarted) {
  const ResidencyRequest few = divided_for(64, claim({0, 0, 2, 2}, {0, 0, 0, 0}, 3));
  for (const int present : {4, 1, 0}) {
    const ResidencyRequest behind = divided_for(16, claim({0, 0, 4, 4}, {0, 0, present, present}, 1000));
    EXPECT_THAT(room_for({few, behind})[1].workers, Each(0)) << present;
  }
}

TEST(Arbitrate, RoomBesideASmallerSplitIsNoSpareRoom) {
  const ResidencyRequest few = divided_for(64, everywhere(8, 0, 3));
  const auto beside = room_for({few, divided_for(16, claim({8, 8, 8, 4}, {8, 8, 8, 4}, 1000))});
  EXPECT_THAT(beside[1].workers, ElementsAre(7, 7, 7, 0));
  const auto free = room_for({few, divided_for(16, claim({8, 8, 8, 0}, {8, 8, 8, 0}, 1000))});
  EXPECT_THAT(free[1].workers, ElementsAre(8, 8, 8, 0));
}

TEST(Arbitrate, RanksAreServedInOrder) {
  const auto allowed = room_for({everywhere(3, 0), everywhere(4, 0), everywhere(8, 8)});
  EXPECT_THAT(allowed[1].workers, Each(4));
  EXPECT_THAT(allowed[2].workers, Each(1));
}

TEST(Arbitrate, QuotasThatFitBesideEachOtherStayAsTheyAre) {
  const auto allowed = room_for({everywhere(2, 0), everywhere(6, 0)});
  EXPECT_THAT(allowed[0].workers, Each(2));
  EXPECT_THAT(allowed[1].workers, Each(6));
}

TEST(Arbitrate, WhereOthersFillAnSmNoWorkerCanBePlacedByMistake) {
  const ResidencyRequest newcomer = claim({8, 0, 0, 0}, {0, 0, 0, 0}, 1000);
  EXPECT_EQ(room_for({newcomer, everywhere(8, 8)})[0].open_sms, 1);
  EXPECT_EQ(room_for({newcomer, everywhere(6, 6)})[0].open_sms, sms);
  EXPECT_EQ(room_for({newcomer})[0].open_sms, sms);
}

}  // namespace
}  // namespace gpushare
