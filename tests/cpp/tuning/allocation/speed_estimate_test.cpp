// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/speed_estimate.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

Contender contender(double weight, double min_speed) { return {.weight = weight, .min_speed = min_speed}; }

TEST(SpeedEstimate, SumsUpSpeedsByWeight) {
  const std::vector contenders{contender(3, 0), contender(1, 0)};
  const SpeedEstimate estimate = estimate_from({0.8, 0.4}, contenders);
  EXPECT_DOUBLE_EQ(estimate.throughput, 1.5 * 0.8 + 0.5 * 0.4);
  EXPECT_DOUBLE_EQ(estimate.slowest, 0.4);
  EXPECT_DOUBLE_EQ(estimate.antt, (1 / 0.8 + 1 / 0.4) / 2);
}

TEST(SpeedEstimate, ThroughputIsStpUnderEqualWeights) {
  const std::vector contenders{contender(7, 0), contender(7, 0)};
  EXPECT_DOUBLE_EQ(estimate_from({0.7, 0.6}, contenders).throughput, 1.3);
}

TEST(SpeedEstimate, MinSpeedRatioIsTheSmallestOne) {
  const std::vector contenders{contender(1, 0.5), contender(1, 0.2)};
  EXPECT_DOUBLE_EQ(estimate_from({0.6, 0.1}, contenders).min_speed_ratio, 0.5);
  EXPECT_DOUBLE_EQ(estimate_from({0.4, 0.3}, contenders).min_speed_ratio, 0.8);
}

TEST(SpeedEstimate, WithoutMinSpeedsNoKernelMayStandStill) {
  const std::vector contenders{contender(1, 0), contender(1, 0)};
  EXPECT_TRUE(estimate_from({0.9, 0.01}, contenders).keeps({}));
  EXPECT_FALSE(estimate_from({0.9, 0.009}, contenders).keeps({}));
}

TEST(SpeedEstimate, FindsTheKernelFurthestBelowItsMinSpeed) {
  const std::vector contenders{contender(1, 0.5), contender(1, 0.2), contender(1, 0)};
  EXPECT_EQ(furthest_below_min_speed(estimate_from({0.3, 0.18, 0.2}, contenders), contenders), 0U);
  EXPECT_EQ(furthest_below_min_speed(estimate_from({0.5, 0.1, 0.2}, contenders), contenders), 1U);
}

TEST(SpeedEstimateValue, IsHighestWhereAllBoundsAreKept) {
  const std::vector contenders{contender(1, 0.3), contender(1, 0.3)};
  const Bounds bounds{.antt = 2.5};
  const double kept = estimate_from({0.4, 0.4}, contenders).value(bounds);
  const double too_slow_in_the_mean = estimate_from({0.9, 0.31}, contenders).value({.antt = 2});
  const double below_min_speed = estimate_from({1.0, 0.29}, contenders).value(bounds);
  EXPECT_GT(kept, too_slow_in_the_mean);
  EXPECT_GT(too_slow_in_the_mean, below_min_speed);
}

TEST(SpeedEstimateValue, PrefersTheSmallerMissOfMinSpeeds) {
  const std::vector contenders{contender(1, 0.8), contender(1, 0.8)};
  EXPECT_GT(estimate_from({0.5, 0.5}, contenders).value({}), estimate_from({0.9, 0.4}, contenders).value({}));
}

TEST(SpeedEstimateValue, PrefersTheFasterSlowestAtEqualThroughput) {
  const std::vector contenders{contender(1, 0), contender(1, 0)};
  EXPECT_GT(estimate_from({0.6, 0.6}, contenders).value({}), estimate_from({0.9, 0.3}, contenders).value({}));
}

}  // namespace
}  // namespace gpushare
