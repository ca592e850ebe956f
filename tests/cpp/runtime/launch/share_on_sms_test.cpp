// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch/share_on_sms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpushare {
namespace {

using testing::ElementsAre;

TEST(ShareOnSms, IsEmptyAtFirst) {
  const ShareOnSms share(2, 4);
  EXPECT_TRUE(share.is_empty());
  EXPECT_THAT(share.wanted(), ElementsAre(0, 0));
}

TEST(ShareOnSms, QuotaIsBoundedByWhatAnSmHolds) {
  ShareOnSms share(3, 4);
  share.set({.quota = Quota::per_sm({0, 2, 9}), .whole_up_to = Duration(5)}, 7);
  EXPECT_THAT(share.wanted(), ElementsAre(0, 2, 4));
  EXPECT_FALSE(share.is_empty());
  EXPECT_EQ(share.rank(), 7);
  EXPECT_EQ(share.original_up_to(), Duration(5));
}

TEST(ShareOnSms, LaunchThatLeavesTheRestStaysPreemptible) {
  ShareOnSms share(1, 4);
  share.set({.quota = Quota::everywhere(4), .whole_up_to = Duration(5), .leaves_rest = true}, 0);
  EXPECT_EQ(share.original_up_to(), Duration{});
}

TEST(ShareOnSms, ClearedShareKeepsItsRank) {
  ShareOnSms share(2, 4);
  share.set({.quota = Quota::everywhere(4)}, 3);
  share.clear();
  EXPECT_TRUE(share.is_empty());
  EXPECT_EQ(share.rank(), 3);
}

}  // namespace
}  // namespace gpushare
