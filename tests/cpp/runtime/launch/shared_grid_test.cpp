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
  EXPECT_TRUE(grid->wait(Duration{}));
  EXPECT_FALSE(grid->is_over());
  EXPECT_EQ(grid->lost_part(), 1u);
  EXPECT_TRUE(first->must_leave());
  EXPECT_THAT(woken, ElementsAre(0u));
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
