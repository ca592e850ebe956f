// SPDX-License-Identifier: Apache-2.0
#include "cuda/stream_pool.hpp"

#include <gmock/gmock.h>

#include <set>

#include "on_stand_in.hpp"

namespace gpushare::cuda::test {
namespace {

using StreamPools = OnStandIn;

std::vector<std::shared_ptr<MarkedStream>> take(StreamPool& pool, int count) {
  std::vector<std::shared_ptr<MarkedStream>> taken;
  for (int number = 0; number < count; ++number) taken.push_back(pool.take(0));
  return taken;
}

std::size_t different(const std::vector<std::shared_ptr<MarkedStream>>& streams) {
  return std::set(streams.begin(), streams.end()).size();
}

TEST_F(StreamPools, EverybodyHasAStreamOfHisOwn) {
  StreamPool pool(resources->context, {.made = 1});
  EXPECT_EQ(different(take(pool, 5)), 5);
}

TEST_F(StreamPools, WhatIsGivenBackIsTakenAgain) {
  StreamPool pool(resources->context, {.made = 1});
  const auto before = pool.take(0);
  const MarkedStream* given_back = pool.take(0).get();
  EXPECT_EQ(pool.take(0).get(), given_back);
  EXPECT_NE(before.get(), given_back);
}

TEST_F(StreamPools, WhereThereAreNoMoreTheyAreSharedInTurn) {
  StreamPool pool(resources->context, {.levels = 1, .most = 3});
  const auto taken = take(pool, 6);
  EXPECT_EQ(different(taken), 3);
  EXPECT_THAT(std::vector(taken.begin() + 3, taken.end()), testing::ElementsAre(taken[0], taken[1], taken[2]));
}

TEST_F(StreamPools, LevelsThatItLacksAreItsLast) {
  StreamPool pool(resources->context, {.levels = 1, .most = 1});
  EXPECT_EQ(pool.take(4), pool.take(0));
}

}  // namespace
}  // namespace gpushare::cuda::test
