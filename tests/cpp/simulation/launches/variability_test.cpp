// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/launches/variability.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

TEST(BlockWork, WithoutVariationEveryBlockIsTheMean) {
  const BlockWork work(1, 2, 0);
  for (std::int64_t block = 0; block < 100; ++block) EXPECT_EQ(work(block), 1);
}

TEST(BlockWork, HasMeanOneAndTheVariationAskedFor) {
  for (const double variation : {0.03, 0.3, 0.65}) {
    const BlockWork work(1, 2, variation);
    const int blocks = 200'000;
    double sum = 0;
    double squares = 0;
    for (std::int64_t block = 0; block < blocks; ++block) {
      sum += work(block);
      squares += work(block) * work(block);
    }
    const double mean = sum / blocks;
    EXPECT_NEAR(mean, 1, 0.01) << variation;
    EXPECT_NEAR(std::sqrt(squares / blocks - mean * mean), variation, 0.03 * variation) << variation;
  }
}

TEST(BlockWork, IsAlwaysPositive) {
  const BlockWork work(5, 6, 3);
  for (std::int64_t block = 0; block < 10'000; ++block) EXPECT_GT(work(block), 0);
}

TEST(BlockWork, DependsOnSeedOperationAndBlockAlone) {
  EXPECT_EQ(BlockWork(1, 2, 0.5)(3), BlockWork(1, 2, 0.5)(3));
  EXPECT_NE(BlockWork(1, 2, 0.5)(3), BlockWork(9, 2, 0.5)(3));
  EXPECT_NE(BlockWork(1, 2, 0.5)(3), BlockWork(1, 9, 0.5)(3));
  EXPECT_NE(BlockWork(1, 2, 0.5)(3), BlockWork(1, 2, 0.5)(9));
}

}  // namespace
}  // namespace gpushare
