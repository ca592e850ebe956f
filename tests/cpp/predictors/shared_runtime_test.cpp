// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/shared_runtime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpushare {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

// Fig. 13 with numbers: A runs T1 = 10 x 10 alone, B runs T2 = 20 x 10 alone. Side by side a block of A takes 16 and
// one of B takes 20.
const RuntimeEstimate estimate_a{.blocks_left = 10, .alone_runtime = 100, .exclusive_step = 10, .shared_step = 16};
const RuntimeEstimate estimate_b{.blocks_left = 20, .alone_runtime = 200, .exclusive_step = 10, .shared_step = 20};

TEST(ExclusiveSlowdowns, TheSecondWaitsForTheFirst) {
  // A: T1 / T1. B: (T1 + T2) / T2.
  EXPECT_THAT(exclusive_slowdowns(std::vector{estimate_a, estimate_b}), ElementsAre(DoubleEq(1), DoubleEq(1.5)));
}

TEST(ExclusiveSlowdowns, TimeAlreadyWaitedCounts) {
  RuntimeEstimate late = estimate_a;
  late.waited = 50;
  EXPECT_THAT(exclusive_slowdowns(std::vector{late, estimate_b}), ElementsAre(DoubleEq(1.5), DoubleEq(1.5)));
}

TEST(SharedSlowdowns, TheSecondRunsBesideTheFirstAndThenAlone) {
  // TS1 = 160; NB1 = 160 / 20 = 8 blocks of B beside it; NB2 = 12 alone take 120; TS2 ends at 280.
  EXPECT_THAT(shared_slowdowns(std::vector{estimate_a, estimate_b}), ElementsAre(DoubleEq(1.6), DoubleEq(1.4)));
}

TEST(SharedSlowdowns, TheFirstMayOutliveTheSecond) {
  // B's 5 blocks end at 100, when A has done 100 / 16 = 6.25; its other 3.75 take 37.5.
  RuntimeEstimate shorter = estimate_b;
  shorter.blocks_left = 5;
  EXPECT_THAT(shared_slowdowns(std::vector{estimate_a, shorter}), ElementsAre(DoubleEq(1.375), DoubleEq(0.5)));
}

TEST(SharedSlowdowns, TheThirdFollowsWhenBothHaveEnded) {
  EXPECT_THAT(shared_slowdowns(std::vector{estimate_a, estimate_b, estimate_a}),
              ElementsAre(DoubleEq(1.6), DoubleEq(1.4), DoubleEq(3.8)));
}

TEST(SharedSlowdowns, OneLaunchIsNotSlowed) {
  EXPECT_THAT(shared_slowdowns(std::vector{estimate_a}), ElementsAre(DoubleEq(1)));
}

TEST(Spread, IsLargestMinusSmallest) { EXPECT_DOUBLE_EQ(spread(std::vector{1.5, 1.0, 2.25}), 1.25); }

}  // namespace
}  // namespace gpushare
