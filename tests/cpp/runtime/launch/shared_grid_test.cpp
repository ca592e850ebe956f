// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch/shared_grid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpushare {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SharedGrids : public testing::Test {
 protected:
  std::shared_ptr<GridPart> begun_part() {
    auto part = grid->add_part();
    part->begin([this, number = part->number()] { woken.push_back(number); });
    return part;
  }

  int openings = 0;
  std::vector<std::size_t> woken;
  std::shared_ptr<SharedGrid> grid = std::make_shared<SharedGrid>(10, 4096, nullptr, [this] { ++openings; });
};

TEST_F(SharedGrids, OpenOnceWithTheTurnOfTheFirstPart) {
  const auto first = grid->add_part();
  EXPECT_FALSE(grid->is_open());
  first->begin([] {});
  EXPECT_TRUE(grid->is_open());
  const auto second = begun_part();
  EXPECT_EQ(openings, 1);
  EXPECT_EQ(second->claims(), 4096u);
  first->end();
  second->end();
}

TEST_F(SharedGrids, OverWhenAllBlocksHaveReturnedInWhateverParts) {
  const auto first = begun_part();
  const auto second = begun_part();
  first->returned(6);
  second->returned(3);
  EXPECT_FALSE(grid->wait(Duration{}));
  EXPECT_FALSE(first->is_exhausted());
  second->returned(4);
  EXPECT_TRUE(first->is_exhausted());
  EXPECT_THAT(woken, ElementsAre(0u, 1u));
  EXPECT_TRUE(grid->wait(Duration{}));
  EXPECT_TRUE(grid->is_over());
  EXPECT_EQ(grid->lost_part(), std::nullopt);
}

TEST_F(SharedGrids, ExhaustionIsToldToAllDevicesOnce) {
  const auto first = begun_part();
  const auto second = begun_part();
  EXPECT_FALSE(second->is_exhausted());
  first->found_none_left();
  second->found_none_left();
  EXPECT_TRUE(second->is_exhausted());
  EXPECT_THAT(woken, ElementsAre(0u, 1u));
  first->end();
  second->end();
}

TEST_F(SharedGrids, PartThatLeavesIsWokenAndLeavesTheRestToOthers) {
  const auto first = begun_part();
  const auto second = begun_part();
  EXPECT_EQ(first->parts_at_work(), 2);
  grid->leave(0);
  EXPECT_TRUE(first->must_leave());
  EXPECT_FALSE(second->must_leave());
  EXPECT_THAT(woken, ElementsAre(0u));
  EXPECT_EQ(second->parts_at_work(), 1);
  first->returned(2);
  first->end();
  second->returned(8);
  EXPECT_TRUE(grid->is_over());
}

TEST_F(SharedGrids, LostWithAPartThatHasNotEnded) {
  const auto first = begun_part();
  auto second = begun_part();
  std::vector<std::string> told;
  grid->when_ended([&](const std::string& failure) { told.push_back(failure); });
  second.reset();
  EXPECT_EQ(grid->lost_part(), 1u);
  EXPECT_TRUE(first->must_leave());
  EXPECT_THAT(woken, ElementsAre(0u));
  EXPECT_TRUE(grid->wait_for_end(1, Duration{}));
  EXPECT_FALSE(grid->wait_for_end(0, Duration{}));
  EXPECT_FALSE(grid->wait(Duration{}));  // blocks of the first part may run, and use memory
  EXPECT_THAT(told, IsEmpty());
  first->end();
  EXPECT_TRUE(grid->wait(Duration{}));
  EXPECT_FALSE(grid->is_over());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_FALSE(told[0].empty());
}

TEST_F(SharedGrids, LateListenersAndPartsLearnOfTheEndAtOnce) {
  auto part = begun_part();
  part->returned(10);
  std::vector<std::string> told;
  grid->when_ended([&](const std::string& failure) { told.push_back(failure); });
  EXPECT_THAT(told, ElementsAre(std::string()));
  EXPECT_TRUE(grid->add_part()->must_leave());
  part.reset();
  EXPECT_TRUE(grid->is_over());
  EXPECT_EQ(grid->lost_part(), std::nullopt);
}

TEST_F(SharedGrids, WhatIsLeftIsExpectedByThePacesOfThoseAtWork) {
  const auto first = begun_part();
  const auto second = begun_part();
  constexpr PartProgress none{.places = 4};
  EXPECT_EQ(first->expected(none), 10);  // nothing runs elsewhere
  second->expected({.claimed = 2, .workers = 4, .places = 4});
  EXPECT_EQ(first->expected(none), 4);  // half of what is left
  second->expected({.claimed = 2, .workers = 4, .places = 4, .block_time = Duration(100)});
  EXPECT_EQ(first->expected({.claimed = 2, .workers = 1, .places = 4, .block_time = Duration(300)}), 2 + 2);
  EXPECT_EQ(second->expected({.claimed = 2, .workers = 4, .places = 4, .block_time = Duration(100)}), 2 + 6);
  second->expected({.claimed = 4, .workers = 0, .places = 4, .block_time = Duration(100)});
  EXPECT_EQ(first->expected({.claimed = 2, .workers = 4, .places = 4, .block_time = Duration(300)}), 6);
  first->end();
  second->end();
}

TEST_F(SharedGrids, OneBlockIsExpectedUntilNoneIsLeftForSure) {
  const auto first = begun_part();
  const auto second = begun_part();
  second->expected({.claimed = 10, .workers = 4, .places = 4});
  EXPECT_EQ(first->expected({.places = 4}), 1);
  first->found_none_left();
  EXPECT_EQ(first->expected({.places = 4}), 0);
  grid->leave(0);
  EXPECT_EQ(first->expected({.claimed = 3, .places = 4}), 3);
  first->end();
  second->end();
}

TEST_F(SharedGrids, PartsWaitInVainWhereAllDoAndHaveConfirmedIt) {
  const auto first = begun_part();
  const auto second = begun_part();
  EXPECT_FALSE(first->waits_in_vain());
  EXPECT_FALSE(first->waits_in_vain());
  EXPECT_THAT(woken, IsEmpty());
  EXPECT_FALSE(second->waits_in_vain());  // something may have come to the first
  EXPECT_THAT(woken, ElementsAre(0u, 1u));
  EXPECT_FALSE(second->waits_in_vain());
  EXPECT_TRUE(first->waits_in_vain());
}

TEST_F(SharedGrids, PartThatGoesOnMakesTheOthersWaitForIt) {
  const auto first = begun_part();
  const auto second = begun_part();
  EXPECT_FALSE(first->waits_in_vain());
  EXPECT_FALSE(second->waits_in_vain());
  EXPECT_FALSE(second->waits_in_vain());
  first->goes_on();
  EXPECT_FALSE(second->waits_in_vain());
  woken.clear();
  EXPECT_FALSE(first->waits_in_vain());
  EXPECT_THAT(woken, ElementsAre(0u, 1u));
  EXPECT_FALSE(first->waits_in_vain());
  EXPECT_TRUE(second->waits_in_vain());
}

TEST_F(SharedGrids, PartOnItsOwnWaitsInVainOnceTheOtherHasEnded) {
  const auto first = begun_part();
  const auto second = begun_part();
  EXPECT_FALSE(first->waits_in_vain());
  grid->leave(1);
  EXPECT_FALSE(second->waits_in_vain());
  EXPECT_FALSE(first->waits_in_vain());  // what the other has claimed it will run
  woken.clear();
  second->end();
  EXPECT_THAT(woken, ElementsAre(0u, 1u));
  EXPECT_TRUE(first->waits_in_vain());
}

TEST_F(SharedGrids, PartWhoseTurnHasNotComeMayRunTheRest) {
  const auto first = begun_part();
  EXPECT_FALSE(first->waits_in_vain());
  const auto second = grid->add_part();
  EXPECT_FALSE(first->waits_in_vain());
  first->found_none_left();
  EXPECT_FALSE(first->waits_in_vain());
}

TEST_F(SharedGrids, EndOfAPartCanBeWaitedFor) {
  const auto first = begun_part();
  const auto second = begun_part();
  EXPECT_FALSE(grid->wait_for_end(0, Duration{}));
  first->end();
  EXPECT_TRUE(grid->wait_for_end(0, Duration{}));
  EXPECT_FALSE(grid->wait_for_end(1, Duration{}));
  second->returned(10);
  EXPECT_TRUE(grid->wait_for_end(1, Duration{}));
}

TEST_F(SharedGrids, EndedPartIsNoLoss) {
  auto part = begun_part();
  part->returned(3);
  part->end();
  part.reset();
  EXPECT_FALSE(grid->wait(Duration{}));
  EXPECT_THAT(woken, IsEmpty());
}

}  // namespace
}  // namespace gpushare
