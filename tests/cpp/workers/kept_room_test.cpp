// SPDX-License-Identifier: Apache-2.0
#include "core/workers/kept_room.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpushare {
namespace {

using testing::ElementsAre;

RoomClaim claim_of(std::int64_t blocks) {
  return {.wanted = {4, 4, 4}, .present = {0, 0, 0}, .unclaimed = blocks, .is_seen = false};
}

TEST(KeptRoom, IsFilledFromTheLastSmOn) {
  const RoomClaim claim = on_kept_room(claim_of(6));
  EXPECT_THAT(claim.present, ElementsAre(0, 2, 4));
  EXPECT_EQ(claim.wanted, claim.present);
  EXPECT_EQ(claim.unclaimed, 0);
  EXPECT_TRUE(claim.is_seen);
}

TEST(KeptRoom, MoreBlocksThanPlacesWaitForOneAnother) {
  EXPECT_THAT(on_kept_room(claim_of(100)).present, ElementsAre(4, 4, 4));
  EXPECT_EQ(on_kept_room(claim_of(100)).unclaimed, 0);
}

}  // namespace
}  // namespace gpushare
