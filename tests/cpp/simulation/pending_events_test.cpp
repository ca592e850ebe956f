// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/pending_events.hpp"

#include <gtest/gtest.h>

#include "sample_devices.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(PendingEvents, AreTakenInTheirOrderAlsoWhenMoreComeMeanwhile) {
  PendingEvents pending;
  EXPECT_TRUE(pending.empty());
  pending.add({.time = at(1)});
  pending.add({.time = at(2)});
  EXPECT_EQ(pending.take().time, at(1));
  pending.add({.time = at(3)});
  EXPECT_EQ(pending.take().time, at(2));
  EXPECT_FALSE(pending.empty());
  EXPECT_EQ(pending.take().time, at(3));
  EXPECT_TRUE(pending.empty());
  pending.add({.time = at(4)});
  EXPECT_EQ(pending.take().time, at(4));
}

}  // namespace
}  // namespace gpushare
