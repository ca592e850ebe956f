// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/contention_model.hpp"

#include <gtest/gtest.h>

#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;

class ContentionModelOfTwo : public testing::Test {
 protected:
  Device device_ = mixing_device();
  Kernel issues_ = issuing_kernel();
  Kernel streams_ = streaming_kernel();
  std::vector<Contender> contenders_{contender_of(device_, issues_), contender_of(device_, streams_)};
};

TEST_F(ContentionModelOfTwo, HalfOfTheSmsIsHalfOfTheSpeedOfAnIssuingKernel) {
  const std::vector both{contender_of(device_, issues_), contender_of(device_, issues_)};
  const SpeedEstimate estimate = ContentionModel(device_, both).estimate(equal_partition(device_, both));
  EXPECT_NEAR(estimate.speeds[0], 0.5, 1e-6);
  EXPECT_NEAR(estimate.speeds[1], 0.5, 1e-6);
}

TEST_F(ContentionModelOfTwo, AStreamingKernelKeepsMoreThanItsShareOfTheSms) {
  const ContentionModel model(device_, contenders_);
  const SpeedEstimate estimate = model.estimate(equal_partition(device_, contenders_));
  EXPECT_GT(estimate.speeds[1], 0.55);
  EXPECT_NEAR(estimate.speeds[0], 0.5, 0.01);
}

TEST_F(ContentionModelOfTwo, RemembersEstimatesAndStopsAtTheLimit) {
  ContentionModel model(device_, contenders_);
  const SmAllocation first{{.sms = 8, .blocks = {1, 1}}};
  const SmAllocation second{{.sms = 8, .blocks = {2, 2}}};
  model.limit_evaluations(1);
  ASSERT_NE(model.remembered_estimate(first), nullptr);
  EXPECT_EQ(model.remembered_estimate(first)->throughput, model.estimate(first).throughput);
  EXPECT_FALSE(model.has_hit_limit());
  EXPECT_EQ(model.remembered_estimate(second), nullptr);
  EXPECT_TRUE(model.has_hit_limit());
  model.limit_evaluations(1);
  EXPECT_FALSE(model.has_hit_limit());
  EXPECT_NE(model.remembered_estimate(second), nullptr);
}

TEST_F(ContentionModelOfTwo, TellsGroupsWithTheSameBlocksApart) {
  const ContentionModel model(device_, contenders_);
  const double more_for_the_first =
      model.remembered_estimate({{.sms = 6, .blocks = {8, 0}}, {.sms = 2, .blocks = {0, 8}}})->speeds[0];
  const double less_for_the_first =
      model.remembered_estimate({{.sms = 2, .blocks = {8, 0}}, {.sms = 6, .blocks = {0, 8}}})->speeds[0];
  EXPECT_NEAR(more_for_the_first, 3 * less_for_the_first, 0.1);
}

}  // namespace
}  // namespace gpushare
