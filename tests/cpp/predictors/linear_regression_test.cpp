// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/linear_regression.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using test::Dice;

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

/// By the textbook, from all ends at once.
Duration textbook(const std::vector<std::int64_t>& ends, std::int64_t blocks) {
  long double mean_number = (static_cast<long double>(ends.size()) + 1) / 2, mean_end = 0, both = 0, squares = 0;
  for (const std::int64_t end : ends) mean_end += static_cast<long double>(end) / static_cast<long double>(ends.size());
  for (std::size_t at = 0; at < ends.size(); ++at) {
    const long double number = static_cast<long double>(at) + 1 - mean_number;
    both += number * (static_cast<long double>(ends[at]) - mean_end);
    squares += number * number;
  }
  return Duration(std::llround(mean_end + both / squares * (static_cast<long double>(blocks) - mean_number)));
}

// An hour from the start, where squares of nanoseconds have lost the last ones.
TEST(LinearRegression, IsRightForManyBlocksLongAfterTheStart) {
  Dice dice(7);
  LinearRegression regression;
  std::vector<std::int64_t> ends;
  std::int64_t end = 3'600'000'000'000;
  while (ends.size() < 20'000) {
    const int together = dice.between(1, 8);
    end += dice.between(0, 100'000);
    regression.add_end(Duration(end), together);
    ends.insert(ends.end(), static_cast<std::size_t>(together), end);
  }
  EXPECT_NEAR(nanoseconds(*regression.runtime(50'000)), nanoseconds(textbook(ends, 50'000)), 10);
}

}  // namespace
}  // namespace gpushare
