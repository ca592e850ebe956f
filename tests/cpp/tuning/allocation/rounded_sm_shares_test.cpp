// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/rounded_sm_shares.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

TEST(RoundedSmShares, AddUpAndKeepEveryLimit) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const int parts = dice.between(1, 8);
    const int sms = dice.between(parts, 40);
    std::vector<double> wanted;
    std::vector<int> most;
    for (int i = 0; i < parts; ++i) {
      wanted.push_back(0.01 + dice.ratio());
      most.push_back(dice.between(1, sms));
    }
    const auto shares = rounded_sm_shares(wanted, most, sms);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      EXPECT_GE(shares[i], 1);
      EXPECT_LE(shares[i], most[i]);
    }
    const int all = std::accumulate(shares.begin(), shares.end(), 0);
    EXPECT_EQ(all, std::min(sms, std::accumulate(most.begin(), most.end(), 0)));
  }
}

TEST(RoundedSmShares, AreProportionalBelowAllLimits) {
  EXPECT_THAT(rounded_sm_shares(std::vector<double>{1, 1, 2}, std::vector<int>{9, 9, 9}, 8), ElementsAre(2, 2, 4));
}

TEST(RoundedSmShares, TheRestGoesToTheLargestRemainders) {
  EXPECT_THAT(rounded_sm_shares(std::vector<double>{1.5, 1.9, 1.6}, std::vector<int>{9, 9, 9}, 5),
              ElementsAre(1, 2, 2));
}

TEST(RoundedSmShares, WhatIsAboveALimitGoesToTheOthers) {
  EXPECT_THAT(rounded_sm_shares(std::vector<double>{1, 1, 1}, std::vector<int>{2, 9, 9}, 12), ElementsAre(2, 5, 5));
}

TEST(RoundedSmShares, WhatNoneCanUseIsLeft) {
  EXPECT_THAT(rounded_sm_shares(std::vector<double>{1, 1}, std::vector<int>{2, 3}, 12), ElementsAre(2, 3));
}

TEST(RoundedSmShares, EachHasOneThoughItsShareIsLess) {
  EXPECT_THAT(rounded_sm_shares(std::vector<double>{1000, 1, 1}, std::vector<int>{9, 9, 9}, 4), ElementsAre(2, 1, 1));
}

}  // namespace
}  // namespace gpushare
