// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch/kernel_history.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

constexpr KernelId kernel{1};

class KernelHistoryOfBothModes : public testing::Test {
 protected:
  void add(ExecutionMode way, std::optional<Duration> took, std::int64_t blocks = 10) {
    history.add({kernel, 4, way, blocks}, took);
  }
  bool original_may_be_faster(std::size_t sms = 4) const { return history.original_may_be_faster(kernel, sms, true); }

  KernelHistory history;
};

TEST_F(KernelHistoryOfBothModes, FirstLaunchesAreWorkers) {
  for (int time = 0; time < 4; ++time) {
    EXPECT_FALSE(original_may_be_faster());
    add(ExecutionMode::Worker, Duration(100));
  }
  EXPECT_TRUE(original_may_be_faster());
  EXPECT_FALSE(original_may_be_faster(2));  // on so many SMs it has not run
}

TEST_F(KernelHistoryOfBothModes, WorkersAreChosenWhereClearlyFaster) {
  for (const int took : {500, 100, 100, 100}) add(ExecutionMode::Worker, Duration(took));
  for (const int took : {90, 110, 110}) add(ExecutionMode::Original, Duration(took));
  EXPECT_TRUE(original_may_be_faster());
  add(ExecutionMode::Original, Duration(110));
  EXPECT_FALSE(original_may_be_faster());
  for (const int took : {102, 102, 102}) add(ExecutionMode::Original, Duration(took));
  EXPECT_TRUE(original_may_be_faster());  // not clearly slower
}

TEST_F(KernelHistoryOfBothModes, FirstLaunchIsNotTimed) {
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Worker, Duration(100));
  for (const int took : {1, 1000, 1000, 1000}) add(ExecutionMode::Original, Duration(took));
  EXPECT_FALSE(original_may_be_faster());
}

// A late end makes one launch seem longer and the next one shorter.
TEST_F(KernelHistoryOfBothModes, OneLateEndDoesNotDecide) {
  for (const int took : {100, 100, 150, 50, 100}) add(ExecutionMode::Worker, Duration(took));
  for (const int took : {95, 95, 95, 95}) add(ExecutionMode::Original, Duration(took));
  EXPECT_TRUE(original_may_be_faster());
}

TEST_F(KernelHistoryOfBothModes, UnsteadyKernelMayBeOriginal) {
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Worker, Duration(100));
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Original, Duration(120));
  EXPECT_FALSE(original_may_be_faster());
  for (const int other : {240, 60}) {
    add(ExecutionMode::Original, Duration(other));
    for (int time = 0; time < 20; ++time) {
      EXPECT_TRUE(original_may_be_faster());
      add(ExecutionMode::Original, Duration(120));
    }
    EXPECT_FALSE(original_may_be_faster());
  }
}

TEST_F(KernelHistoryOfBothModes, GridsOfOtherSizesAreNotUnsteady) {
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Worker, Duration(100'000), 1000);
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Original, Duration(130'000), 1000);
  add(ExecutionMode::Worker, Duration(20'000), 50);
  EXPECT_FALSE(original_may_be_faster());
}

TEST_F(KernelHistoryOfBothModes, OnlyLastLaunchesCount) {
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Worker, Duration(100));
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Original, Duration(110));
  EXPECT_FALSE(original_may_be_faster());
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Worker, Duration(120));
  EXPECT_TRUE(original_may_be_faster());
}

TEST_F(KernelHistoryOfBothModes, TimesArePerBlock) {
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Worker, Duration(100), 10);
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Original, Duration(200), 40);
  EXPECT_TRUE(original_may_be_faster());
}

TEST_F(KernelHistoryOfBothModes, UntimedOriginalMayBeFaster) {
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Worker, Duration(100));
  for (int time = 0; time < 5; ++time) add(ExecutionMode::Original, std::nullopt);
  EXPECT_TRUE(original_may_be_faster());
}

TEST_F(KernelHistoryOfBothModes, UntimedWorkersLetOriginalBeTried) {
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Worker, std::nullopt);
  for (int time = 0; time < 5; ++time) add(ExecutionMode::Original, std::nullopt);
  EXPECT_TRUE(original_may_be_faster());
}

TEST_F(KernelHistoryOfBothModes, ModeThatLostIsTriedAgainNowAndThen) {
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Worker, Duration(100));
  for (const int took : {105, 140, 140, 140}) add(ExecutionMode::Original, Duration(took));  // disturbed
  EXPECT_FALSE(original_may_be_faster());
  int launches = 0;
  for (; !original_may_be_faster() && launches < 1000; ++launches) add(ExecutionMode::Worker, Duration(100));
  EXPECT_GE(launches, 64);
  EXPECT_LE(launches, 3 * 200);  // three trials of 1.4 of the time cost 0.2 %
  for (int time = 0; time < 3; ++time) {
    EXPECT_TRUE(original_may_be_faster());
    add(ExecutionMode::Original, Duration(95));
  }
  EXPECT_TRUE(original_may_be_faster());
}

TEST_F(KernelHistoryOfBothModes, TrialsThatConfirmTheChoiceEnd) {
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Worker, Duration(150));
  for (int time = 0; time < 4; ++time) add(ExecutionMode::Original, Duration(100));
  int trials = 0;
  for (int launch = 0; launch < 3000; ++launch) {
    const bool original = original_may_be_faster();
    trials += original ? 0 : 1;
    add(original ? ExecutionMode::Original : ExecutionMode::Worker, Duration(original ? 100 : 140));
  }
  EXPECT_GT(trials, 0);
  EXPECT_LE(trials, 3000 / 64);
}

TEST(KernelHistory, BlockTimeIsUnknownUntilSet) {
  KernelHistory history;
  EXPECT_FALSE(history.block_time(kernel));
  EXPECT_FALSE(history.expected_time(kernel, 10, 5));
  history.set_block_time(kernel, Duration(100));
  EXPECT_EQ(history.block_time(kernel), Duration(100));
  EXPECT_EQ(history.expected_time(kernel, 10, 5), Duration(200));
  EXPECT_EQ(history.expected_time(kernel, 11, 5), Duration(300));
}

TEST(KernelHistory, MispredictionLastsUntilALaunchIsAsPredicted) {
  KernelHistory history;
  EXPECT_FALSE(history.is_mispredicted(kernel));
  history.as_predicted(kernel);
  history.mispredicted(kernel);
  EXPECT_TRUE(history.is_mispredicted(kernel));
  EXPECT_FALSE(history.is_mispredicted(KernelId{2}));
  history.as_predicted(kernel);
  EXPECT_FALSE(history.is_mispredicted(kernel));
}

TEST(KernelHistory, NumberOfSmCountsIsBounded) {
  KernelHistory history;
  for (int time = 0; time < 4; ++time) history.add({kernel, 1, ExecutionMode::Worker, 1}, Duration(1));
  EXPECT_TRUE(history.original_may_be_faster(kernel, 1, true));
  for (std::size_t sms = 2; sms < 100; ++sms) history.add({kernel, sms, ExecutionMode::Worker, 1}, Duration(1));
  EXPECT_FALSE(history.original_may_be_faster(kernel, 1, true));  // the least recently used one has gone
}

}  // namespace
}  // namespace gpushare
