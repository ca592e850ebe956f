// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/sm_array.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "core/simulation/launches/active_launch.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

class SmArrayTest : public testing::Test {
 protected:
  static constexpr SmId first{0};
  static constexpr SmId second{1};

  ActiveLaunch& launch(Launch launch) {
    operations_.emplace_back(std::move(launch));
    return launches_.emplace_back(Submission{.operation = &operations_.back()}, launches_.size(), device_, 1, 0);
  }
  void start(SmArray& sms, SmId sm, ActiveLaunch& launch, double now) {
    sms.start(sm, launch, launch.max_residency, now, at(static_cast<std::int64_t>(now)));
    sms.set_rates(sm, now);
  }

  Device device_ = small_device(2);
  std::deque<Operation> operations_;
  std::deque<ActiveLaunch> launches_;
};

TEST_F(SmArrayTest, NextEndIsTheEarliestOfAllSms) {
  SmArray sms(device_);
  EXPECT_EQ(sms.next_end(), EarliestOf::never);
  start(sms, first, launch(launch_of(1, 500)), 0);
  ActiveLaunch& shorter = launch(launch_of(1, 300));
  start(sms, second, shorter, 100);
  EXPECT_EQ(sms.next_end(), 400);
  const auto [sm, ended] = sms.end_first(400);
  EXPECT_EQ(sm, second);
  EXPECT_EQ(ended.launch, &shorter);
  EXPECT_EQ(ended.started, at(100));
  sms.set_rates(sm, 400);
  EXPECT_EQ(sms.next_end(), 500);
}

TEST_F(SmArrayTest, SmHoldsAsManyBlocksAsFit) {
  SmArray sms(device_);
  ActiveLaunch& four_fit = launch(launch_of(8, 500));
  for (int block = 0; block < 4; ++block) {
    EXPECT_TRUE(sms.fits(first, four_fit));
    start(sms, first, four_fit, 0);
  }
  EXPECT_FALSE(sms.fits(first, four_fit));
  EXPECT_TRUE(sms.fits(second, four_fit));
  EXPECT_EQ(sms.resident(first, four_fit), 4);
}

TEST_F(SmArrayTest, BlocksThatUseTheBandwidthSlowOneAnotherDownOnceItIsShared) {
  device_.off_sm.dram = {1e9};  // a byte in a nanosecond
  SmArray sms(device_);
  Launch reading = launch_of(2, 1000);
  reading.kernel.cost.off_sm = Bytes{1000};
  ActiveLaunch& reader = launch(reading);
  sms.use_off_sm();
  start(sms, first, reader, 0);
  start(sms, second, reader, 0);
  EXPECT_NEAR(sms.next_end(), 1000, 1e-6);
  sms.share_bandwidth(0);
  EXPECT_NEAR(sms.next_end(), 2000, 1e-6);
}

}  // namespace
}  // namespace gpushare
