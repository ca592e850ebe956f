// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/engine/ordering.hpp"

namespace gpushare {
namespace {

TEST(ArrivalOrdering, LetsEveryOperationGoOnceWhenItIsOffered) {
  ArrivalOrdering ordering;
  const Operation copy = Copy{};
  EXPECT_FALSE(ordering.next(Time{}));
  ordering.offer({.id = OperationId{4}, .operation = &copy}, Time{});
  EXPECT_FALSE(ordering.waits_for_all_offers());
  ASSERT_EQ(ordering.next(Time{}).value().id, OperationId{4});
  EXPECT_FALSE(ordering.next(Time{}));
}

TEST(ArrivalOrdering, NumbersApplicationsInOrderAndLetsThemGoOn) {
  ArrivalOrdering ordering;
  EXPECT_EQ(ordering.add({}), ApplicationId{0});
  EXPECT_EQ(ordering.add({}), ApplicationId{1});
  EXPECT_TRUE(ordering.goes_on(ApplicationId{1}));
}

}  // namespace
}  // namespace gpushare
