// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_rates/launch_rate.hpp"

#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(LaunchRate, AFirstRoundThatIsNotFullIsSpreadEvenly) {
  const auto groups = first_round(launch_of(128, 1000), 5, 30);
  ASSERT_EQ(groups.size(), 2);
  EXPECT_EQ(groups[0].sms, 8);
  EXPECT_EQ(groups[0].blocks, std::vector<int>{5});
  EXPECT_EQ(groups[1].sms, 22);
  EXPECT_EQ(groups[1].blocks, std::vector<int>{4});
}

TEST(LaunchRate, AFullOneTakesEveryPlace) {
  const auto groups = first_round(launch_of(1000, 1000), 5, 30, 1, 3);
  ASSERT_EQ(groups.size(), 1);
  EXPECT_EQ(groups[0].sms, 30);
  EXPECT_EQ(groups[0].blocks, (std::vector<int>{0, 5, 0}));
}

TEST(LaunchRate, FewerBlocksThanSmsLeaveSmsOut) {
  const auto groups = first_round(launch_of(7, 1000), 5, 30);
  ASSERT_EQ(groups.size(), 1);
  EXPECT_EQ(groups[0].sms, 7);
  EXPECT_EQ(groups[0].blocks, std::vector<int>{1});
}

TEST(LaunchRate, RoundsAreWhole) {
  EXPECT_DOUBLE_EQ(places_used(launch_of(128, 1000), 5, 30), 1);
  EXPECT_DOUBLE_EQ(places_used(launch_of(128, 1000), 5, 25), 128.0 / 250);
  EXPECT_DOUBLE_EQ(places_used(launch_of(128, 1000), 5, 13), 128.0 / 130);
}

TEST(LaunchRate, IsWhatTheSimulatorFinds) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = small_device(dice.between(1, 12));
    Launch launch = launch_of(dice.between(1, 3000), 1000);
    launch.kernel.cost.issue = Duration(dice.between(0, 500));
    const double blocks_per_ns = static_cast<double>(launch.blocks) /
                                 static_cast<double>(end_of(record(device, workload_of({launch}), "fifo", seed), 0));
    // Blocks of the last round are faster where they are fewer, which the rate does not count on.
    EXPECT_GE(blocks_per_ns, 0.99 * launch_rate_alone(device, launch));
    const double rounds = static_cast<double>(launch.blocks) / (4.0 * device.sms);
    if (rounds <= 1 || rounds > 20) {
      EXPECT_NEAR(blocks_per_ns / launch_rate_alone(device, launch), 1, 0.05);
    }
  }
}

}  // namespace
}  // namespace gpushare
