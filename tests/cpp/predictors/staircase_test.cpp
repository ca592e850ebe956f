// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/staircase.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

TEST(Staircase, AGridIsSpreadEvenlyOverTheSms) {
  EXPECT_EQ(blocks_per_sm(30, 15), 2);
  EXPECT_EQ(blocks_per_sm(31, 15), 3);
  EXPECT_EQ(blocks_per_sm(1, 15), 1);
}

// SRTF, Fig. 2: R = 4 and N = 3R take three steps.
TEST(Staircase, ThreeTimesTheResidencyTakesThreeSteps) {
  EXPECT_EQ(staircase_runtime(12, 4, Duration(100)), Duration(300));
}

TEST(Staircase, AnIncompleteStepTakesAWholeOne) {
  EXPECT_EQ(staircase_runtime(9, 4, Duration(100)), Duration(300));
  EXPECT_EQ(staircase_runtime(8, 4, Duration(100)), Duration(200));
  EXPECT_EQ(staircase_runtime(1, 4, Duration(100)), Duration(100));
}

}  // namespace
}  // namespace gpushare
