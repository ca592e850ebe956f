// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/sm_partition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpushare {
namespace {

using testing::ElementsAre;

constexpr ApplicationId a{0}, b{1}, c{2};

std::vector<int> quotas(const SmPartition& partition, ApplicationId application, int sms) {
  const Quota quota = partition.quota(application, 1);
  std::vector<int> blocks;
  for (int sm = 0; sm < sms; ++sm) blocks.push_back(quota.at(static_cast<SmId>(sm)));
  return blocks;
}

TEST(SmPartition, EvenPartsDifferByOneAtMost) {
  EXPECT_THAT(even_parts(2, 24), ElementsAre(12, 12));
  EXPECT_THAT(even_parts(3, 7), ElementsAre(2, 2, 3));
  EXPECT_THAT(even_parts(3, 2), ElementsAre(1, 1, 0));
  EXPECT_TRUE(even_parts(0, 4).empty());
}

TEST(SmPartition, StalledSmsBelongToNoApplication) {
  SmPartition partition;
  partition.resize(std::vector<SmPart>{{a, 3}, {b, 3}}, 6);
  partition.resize(std::vector<SmPart>{{a, 1}, {b, 3}}, 6);
  EXPECT_THAT(quotas(partition, a, 6), ElementsAre(1, 0, 0, 0, 0, 0));
  EXPECT_THAT(quotas(partition, b, 6), ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(SmPartition, AHandOverMovesNoSmThatIsInUse) {
  SmPartition partition;
  partition.resize(std::vector<SmPart>{{a, 3}, {b, 3}}, 6);
  partition.resize(std::vector<SmPart>{{a, 5}, {b, 1}}, 6);
  EXPECT_THAT(quotas(partition, a, 6), ElementsAre(1, 1, 1, 0, 1, 1));
  EXPECT_THAT(quotas(partition, b, 6), ElementsAre(0, 0, 0, 1, 0, 0));
}

TEST(SmPartition, WhatWasStalledComesBackToItsOwner) {
  SmPartition partition;
  partition.resize(std::vector<SmPart>{{a, 3}, {b, 3}}, 6);
  partition.resize(std::vector<SmPart>{{a, 3}, {b, 2}}, 6);
  partition.resize(std::vector<SmPart>{{a, 1}, {b, 3}}, 6);  // at the same time as somebody else gives up some
  EXPECT_THAT(quotas(partition, b, 6), ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(SmPartition, AnApplicationThatIsNoLongerNamedLeavesItsSms) {
  SmPartition partition;
  partition.resize(std::vector<SmPart>{{a, 3}, {b, 3}}, 6);
  partition.resize(std::vector<SmPart>{{b, 4}, {c, 2}}, 6);
  EXPECT_EQ(partition.sms_of(a), 0);
  EXPECT_THAT(quotas(partition, b, 6), ElementsAre(1, 0, 0, 1, 1, 1));
  EXPECT_THAT(quotas(partition, c, 6), ElementsAre(0, 1, 1, 0, 0, 0));
}

TEST(SmPartition, PartsBeyondTheGpuAreABug) {
  SmPartition partition;
  EXPECT_THROW(partition.resize(std::vector<SmPart>{{a, 4}, {b, 3}}, 6), std::logic_error);
}

}  // namespace
}  // namespace gpushare
