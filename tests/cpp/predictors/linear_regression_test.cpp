// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/linear_regression.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

LinearRegression with_ends(std::initializer_list<int> ends) {
  LinearRegression regression;
  for (const int end : ends) regression.add_end(Duration(end));
  return regression;
}

TEST(LinearRegression, SaysNothingBeforeTwoBlocks) {
  EXPECT_EQ(with_ends({}).runtime(10), std::nullopt);
  EXPECT_EQ(with_ends({100}).runtime(10), std::nullopt);
}

TEST(LinearRegression, ExtendsAStraightLine) { EXPECT_EQ(with_ends({150, 200, 250}).runtime(10), Duration(600)); }

TEST(LinearRegression, FitsByLeastSquares) {
  // Ends 100, 100, 200, 200 of blocks 1..4: slope 40, intercept 50.
  EXPECT_EQ(with_ends({100, 100, 200, 200}).runtime(8), Duration(370));
}

TEST(LinearRegression, CountsItsSamples) { EXPECT_EQ(with_ends({1, 2, 3}).samples(), 3); }

TEST(LinearRegression, AGroupIsSoManyBlocksThatEndedAtOnce) {
  LinearRegression grouped = with_ends({100});
  grouped.add_end(Duration(100), 3);
  grouped.add_end(Duration(250), 2);
  EXPECT_EQ(grouped.samples(), 6);
  EXPECT_EQ(grouped.runtime(20), with_ends({100, 100, 100, 100, 250, 250}).runtime(20));
}

}  // namespace
}  // namespace gpushare
