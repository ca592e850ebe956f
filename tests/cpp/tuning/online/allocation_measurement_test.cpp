// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/allocation_measurement.hpp"

#include <gtest/gtest.h>

#include "sample_devices.hpp"

namespace gpushare {
namespace {

class AllocationMeasurementTest : public testing::Test {
 protected:
  /// Eight blocks of each kernel at a time, one wave after the other up to this moment.
  void run(std::int64_t until, std::int64_t block_time) {
    for (; now_ + block_time <= until; now_ += block_time) {
      for (BlockProgress& each : progress_) {
        each.observe({.time = test::at(now_), .blocks = 8, .kind = EventKind::BlockStarted});
        each.observe({.time = test::at(now_ + block_time),
                      .started = test::at(now_),
                      .blocks = 8,
                      .kind = EventKind::BlockEnded});
      }
    }
    now_ = until;
  }

  const SmAllocation allocation_{{.sms = 2, .blocks = {4, 4}}};
  std::vector<BlockProgress> progress_ = std::vector<BlockProgress>(2);
  std::int64_t now_ = 0;
  AllocationMeasurement measurement_{Duration(10'000), Duration(3'000)};
};

TEST_F(AllocationMeasurementTest, WindowsFollowTheSettlingTime) {
  measurement_.restart(test::at(100));
  EXPECT_TRUE(measurement_.is_settling());
  EXPECT_FALSE(measurement_.window().is_open());
  EXPECT_EQ(measurement_.next_step(), test::at(3'100));
  measurement_.open(test::at(3'100), progress_);
  EXPECT_TRUE(measurement_.is_settling());
  EXPECT_TRUE(measurement_.window().is_open());
  EXPECT_EQ(measurement_.next_step(), test::at(13'100));
  measurement_.end_settling(test::at(14'000), progress_);
  EXPECT_FALSE(measurement_.is_settling());
  EXPECT_EQ(measurement_.window().opened(), test::at(14'000));
  EXPECT_EQ(measurement_.next_step(), test::at(24'000));
  measurement_.set_next_step(test::at(30'000));
  EXPECT_EQ(measurement_.next_step(), test::at(30'000));
}

TEST_F(AllocationMeasurementTest, RatesAreBlocksPerNanosecondInTheWindow) {
  for (BlockProgress& each : progress_) each.observe({.time = test::at(0), .kind = EventKind::LaunchArrived});
  run(5'000, 500);
  measurement_.open(test::at(5'000), progress_);
  run(15'000, 1'000);
  const std::vector<double> rates = measurement_.rates(test::at(15'000), progress_, allocation_);
  ASSERT_EQ(rates.size(), 2U);
  for (const double rate : rates) EXPECT_NEAR(rate, 8.0 / 1'000, 1e-6);
  EXPECT_EQ(measurement_.rate(test::at(15'000), progress_, 1, allocation_), rates[1]);
}

TEST_F(AllocationMeasurementTest, SettlingLastsLongerByTheBlocksThatWereSeen) {
  for (BlockProgress& each : progress_) each.observe({.time = test::at(0), .kind = EventKind::LaunchArrived});
  measurement_.open(test::at(0), progress_);
  run(20'000, 2'000);
  measurement_.rates(test::at(20'000), progress_, allocation_);
  measurement_.restart(test::at(20'000));
  EXPECT_EQ(measurement_.next_step(), test::at(20'000 + 3'000 + 2'000));
}

}  // namespace
}  // namespace gpushare
