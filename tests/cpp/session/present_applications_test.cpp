// SPDX-License-Identifier: Apache-2.0
#include "core/session/present_applications.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

TEST(PresentApplications, NumbersNeverComeAgain) {
  PresentApplications present;
  const ApplicationId first = present.add("a");
  present.forget(first);
  EXPECT_NE(present.add("a"), first);
  EXPECT_FALSE(present.is_present(first));
}

TEST(PresentApplications, WithdrawalHappensOnce) {
  PresentApplications present;
  const ApplicationId id = present.add("a");
  EXPECT_TRUE(present.withdraw(id));
  EXPECT_FALSE(present.withdraw(id));
  EXPECT_TRUE(present.is_present(id));
  present.forget(id);
  EXPECT_FALSE(present.withdraw(id));
}

TEST(PresentApplications, WorkIsAcceptedUntilWithdrawal) {
  PresentApplications present;
  const ApplicationId stays = present.add("stays");
  const ApplicationId leaves = present.add("leaves");
  const ApplicationId left = present.add("left");
  present.withdraw(leaves);
  present.forget(left);
  EXPECT_NO_THROW(present.require_accepts(stays));
  EXPECT_THROW(present.require_accepts(leaves), Cancelled);
  EXPECT_THROW(present.require_accepts(left), Cancelled);
}

TEST(PresentApplications, NumbersThatNoApplicationHasHadAreRefused) {
  PresentApplications present;
  present.add("a");
  for (const int number : {-1, 1}) {
    const auto unknown = static_cast<ApplicationId>(number);
    EXPECT_THROW(present.is_present(unknown), InvalidInput);
    EXPECT_THROW(present.withdraw(unknown), InvalidInput);
    EXPECT_THROW(present.require_accepts(unknown), InvalidInput);
  }
}

}  // namespace
}  // namespace gpushare
