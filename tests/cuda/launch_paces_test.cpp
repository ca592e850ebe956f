// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_paces.hpp"

#include <gtest/gtest.h>

namespace gpushare::cuda {
namespace {

constexpr KernelId kernel{1};

class TwoWays : public testing::Test {
 protected:
  void add(LaunchWay way, std::optional<Duration> took, std::int64_t blocks = 10) {
    paces.add(kernel, 4, way, took, blocks);
  }
  bool may_run_whole(std::size_t sms = 4) const { return paces.may_run_whole(kernel, sms); }

  LaunchPaces paces;
};

TEST_F(TwoWays, WorkersAreTriedFirst) {
  for (int time = 0; time < 4; ++time) {
    EXPECT_FALSE(may_run_whole());
    add(LaunchWay::Workers, Duration(100));
  }
  EXPECT_TRUE(may_run_whole());
  EXPECT_FALSE(may_run_whole(2));  // on so many SMs it has not run
}

TEST_F(TwoWays, ThenTheFasterOneIsTaken) {
  for (const int took : {500, 100, 100, 100}) add(LaunchWay::Workers, Duration(took));
  for (const int took : {90, 110, 110}) add(LaunchWay::Whole, Duration(took));
  EXPECT_TRUE(may_run_whole());
  add(LaunchWay::Whole, Duration(110));
  EXPECT_FALSE(may_run_whole());
  for (const int took : {102, 102, 102}) add(LaunchWay::Whole, Duration(took));
  EXPECT_TRUE(may_run_whole());  // not clearly slower
}

TEST_F(TwoWays, TheFirstLaunchSaysNothing) {
  for (int time = 0; time < 4; ++time) add(LaunchWay::Workers, Duration(100));
  for (const int took : {1, 1000, 1000, 1000}) add(LaunchWay::Whole, Duration(took));
  EXPECT_FALSE(may_run_whole());
}

// A late end makes one launch seem longer and the next one shorter.
TEST_F(TwoWays, AnEndThatWasNoticedLateDoesNotDecide) {
  for (const int took : {100, 100, 150, 50, 100}) add(LaunchWay::Workers, Duration(took));
  for (const int took : {95, 95, 95, 95}) add(LaunchWay::Whole, Duration(took));
  EXPECT_TRUE(may_run_whole());
}

TEST_F(TwoWays, KernelsWhoseLaunchesDifferRunWhole) {
  for (int time = 0; time < 4; ++time) add(LaunchWay::Workers, Duration(100));
  for (int time = 0; time < 4; ++time) add(LaunchWay::Whole, Duration(120));
  EXPECT_FALSE(may_run_whole());
  for (const int other : {240, 60}) {
    add(LaunchWay::Whole, Duration(other));
    for (int time = 0; time < 20; ++time) {
      EXPECT_TRUE(may_run_whole());
      add(LaunchWay::Whole, Duration(120));
    }
    EXPECT_FALSE(may_run_whole());
  }
}

TEST_F(TwoWays, GridsOfOtherSizesDoNotDiffer) {
  for (int time = 0; time < 4; ++time) add(LaunchWay::Workers, Duration(100'000), 1000);
  for (int time = 0; time < 4; ++time) add(LaunchWay::Whole, Duration(130'000), 1000);
  add(LaunchWay::Workers, Duration(20'000), 50);
  EXPECT_FALSE(may_run_whole());
}

TEST_F(TwoWays, WhatWasLongAgoIsForgotten) {
  for (int time = 0; time < 4; ++time) add(LaunchWay::Workers, Duration(100));
  for (int time = 0; time < 4; ++time) add(LaunchWay::Whole, Duration(110));
  EXPECT_FALSE(may_run_whole());
  for (int time = 0; time < 4; ++time) add(LaunchWay::Workers, Duration(120));
  EXPECT_TRUE(may_run_whole());
}

TEST_F(TwoWays, TimesAreByBlock) {
  for (int time = 0; time < 4; ++time) add(LaunchWay::Workers, Duration(100), 10);
  for (int time = 0; time < 4; ++time) add(LaunchWay::Whole, Duration(200), 40);
  EXPECT_TRUE(may_run_whole());
}

TEST_F(TwoWays, WhoIsNeverAloneAnyMoreRunsWhole) {
  for (int time = 0; time < 4; ++time) add(LaunchWay::Workers, Duration(100));
  for (int time = 0; time < 5; ++time) add(LaunchWay::Whole, std::nullopt);
  EXPECT_TRUE(may_run_whole());
}

TEST_F(TwoWays, WhoNeverHadTheSmsForHimselfRunsWhole) {
  for (int time = 0; time < 4; ++time) add(LaunchWay::Workers, std::nullopt);
  for (int time = 0; time < 5; ++time) add(LaunchWay::Whole, std::nullopt);
  EXPECT_TRUE(may_run_whole());
}

}  // namespace
}  // namespace gpushare::cuda
