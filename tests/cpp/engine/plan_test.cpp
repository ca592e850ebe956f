// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

TEST(Quota, EverywhereIsTheSameOnEverySm) {
  const Quota quota = Quota::everywhere(3);
  EXPECT_TRUE(quota.is_uniform());
  EXPECT_EQ(quota.at(SmId{0}), 3);
  EXPECT_EQ(quota.at(SmId{131}), 3);
  EXPECT_EQ(quota.smallest(), 3);
  EXPECT_EQ(quota.largest(), 3);
}

TEST(Quota, PerSmIsWhatWasSaidForEach) {
  const Quota quota = Quota::per_sm({2, 0, 5});
  EXPECT_FALSE(quota.is_uniform());
  EXPECT_EQ(quota.size(), 3U);
  EXPECT_EQ(quota.at(SmId{2}), 5);
  EXPECT_EQ(quota.smallest(), 0);
  EXPECT_EQ(quota.largest(), 5);
}

TEST(Quota, PerSmNeedsAnSm) { EXPECT_THROW(Quota::per_sm({}), PolicyError); }

TEST(Quota, ADefaultQuotaIsNowhere) { EXPECT_EQ(Quota{}, Quota::nowhere()); }

}  // namespace
}  // namespace gpushare
