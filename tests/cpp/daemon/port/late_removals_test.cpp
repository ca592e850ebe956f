// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/late_removals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpushare::daemon {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

LateRemovals::TakeEntry entry() {
  return [] { return std::make_shared<int>(1); };
}

TEST(LateRemovals, EntryGoesOnceItsJobHasBeenRead) {
  LateRemovals removals(10);
  EXPECT_TRUE(removals.empty());
  removals.add(3, entry());
  removals.add(2, entry());
  removals.set_last_job(1);
  EXPECT_FALSE(removals.is_any_due());
  EXPECT_THAT(removals.take_due(), IsEmpty());
  removals.set_last_job(2);
  EXPECT_TRUE(removals.is_any_due());
  EXPECT_THAT(removals.take_due(), SizeIs(1));
  EXPECT_FALSE(removals.empty());
  removals.set_last_job(7);
  EXPECT_THAT(removals.take_due(), SizeIs(1));
  EXPECT_TRUE(removals.empty());
}

TEST(LateRemovals, EntryThatIsNotThereKeepsNoOtherFromGoing) {
  LateRemovals removals(10);
  removals.add(1, []() -> std::shared_ptr<const void> { throw InvalidInput("no such array"); });
  removals.add(1, entry());
  removals.set_last_job(1);
  EXPECT_THAT(removals.take_due(), SizeIs(1));
  EXPECT_TRUE(removals.empty());
}

TEST(LateRemovals, OneTooManyIsRefused) {
  LateRemovals removals(1);
  removals.add(5, entry());
  EXPECT_THROW(removals.add(6, entry()), InvalidInput);
}

}  // namespace
}  // namespace gpushare::daemon
