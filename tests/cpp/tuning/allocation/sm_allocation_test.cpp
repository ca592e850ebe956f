// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/sm_allocation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

class SmAllocationOfTwo : public testing::Test {
 protected:
  bool fit(int one, int other) const { return can_share_an_sm(device_, contenders_, std::vector<int>{one, other}); }

  Device device_ = mixing_device(9);
  Kernel one_ = issuing_kernel("one");
  Kernel other_ = issuing_kernel("other");
  std::vector<Contender> contenders_{contender_of(device_, one_), contender_of(device_, other_)};
};

TEST_F(SmAllocationOfTwo, AnSmIsSharedUpToItsRoom) {
  EXPECT_TRUE(fit(4, 4));
  EXPECT_TRUE(fit(1, 7));
  EXPECT_FALSE(fit(4, 5));
  EXPECT_FALSE(fit(9, 0)) << "beyond the maximum residency";
}

TEST_F(SmAllocationOfTwo, OnlyOneKernelIsAtItsMaximumResidency) {
  contenders_[0].max_residency = contenders_[1].max_residency = 2;
  EXPECT_TRUE(fit(2, 1));
  EXPECT_FALSE(fit(2, 2));
}

TEST_F(SmAllocationOfTwo, DifferentMemorySplitsExcludeOneAnother) {
  device_.per_sm.shared_memory_splits = {Bytes{16 * 1024}, Bytes{100 * 1024}};
  EXPECT_TRUE(fit(1, 1));
  other_.needs.shared_memory = Bytes{10 * 1024};
  EXPECT_FALSE(fit(1, 1));
}

TEST_F(SmAllocationOfTwo, FillAddsToTheSmallestShareFirst) {
  std::vector<int> blocks{1, 5};
  fill(device_, contenders_, blocks);
  EXPECT_THAT(blocks, ElementsAre(3, 5));
}

TEST_F(SmAllocationOfTwo, AnEqualPartitionCoversAllSms) {
  const SmAllocation equal = equal_partition(device_, contenders_);
  ASSERT_EQ(equal.size(), 2U);
  EXPECT_EQ(equal[0].sms + equal[1].sms, 9);
  EXPECT_LE(std::abs(equal[0].sms - equal[1].sms), 1);
  EXPECT_THAT(equal[0].blocks, ElementsAre(8, 0));
  EXPECT_THAT(equal[1].blocks, ElementsAre(0, 8));
}

TEST_F(SmAllocationOfTwo, ProportionalSharesEverySm) {
  const SmAllocation shared = proportional_allocation(device_, contenders_);
  ASSERT_EQ(shared.size(), 1U);
  EXPECT_THAT(shared[0].blocks, ElementsAre(4, 4));
}

TEST_F(SmAllocationOfTwo, ProportionalIsAPartitionWhereAnSmCannotBeShared) {
  one_.needs.threads = other_.needs.threads = 1024;
  one_.needs.registers_per_thread = other_.needs.registers_per_thread = 64;
  contenders_ = {contender_of(device_, one_), contender_of(device_, other_)};
  ASSERT_FALSE(may_share_sms(device_, contenders_));
  EXPECT_TRUE(same_allocation(proportional_allocation(device_, contenders_), equal_partition(device_, contenders_)));
  device_.sms = 1;
  EXPECT_TRUE(proportional_allocation(device_, contenders_).empty());
}

TEST_F(SmAllocationOfTwo, SerialIsRecognised) {
  EXPECT_TRUE(is_serial(serial_allocation(device_, contenders_), contenders_));
  EXPECT_FALSE(is_serial(proportional_allocation(device_, contenders_), contenders_));
  EXPECT_FALSE(is_serial({{.sms = 9, .blocks = {8}}}, std::span(contenders_).first(1))) << "one kernel alone";
}

TEST_F(SmAllocationOfTwo, QuotasAreUniformOnAlikeSmsOnly) {
  EXPECT_EQ(quota_in({{.sms = 9, .blocks = {3, 5}}}, 1), Quota::everywhere(5));
  const SmAllocation parts{{.sms = 2, .blocks = {8, 0}}, {.sms = 7, .blocks = {0, 8}}};
  EXPECT_EQ(quota_in(parts, 0), Quota::per_sm({8, 8, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(blocks_in(parts, 0), 16);
  EXPECT_EQ(blocks_in(parts, 1), 56);
}

TEST_F(SmAllocationOfTwo, FillsSharedSmsOnlyAtMaximumResidencyBesideAnother) {
  const SmAllocation mixed{{.sms = 3, .blocks = {8, 0}}, {.sms = 6, .blocks = {1, 7}}};
  EXPECT_FALSE(fills_shared_sms(mixed, 0, 8));
  EXPECT_TRUE(fills_shared_sms(mixed, 1, 7));
  EXPECT_FALSE(fills_shared_sms(mixed, 1, 8));
}

}  // namespace
}  // namespace gpushare
