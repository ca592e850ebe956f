// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_rates/progress_rate.hpp"

#include <gtest/gtest.h>

#include "hand_written_events.hpp"

namespace gpushare {
namespace {

using namespace test;

class ProgressRateOf : public HandWrittenRun {
 public:
  ProgressRateOf() : HandWrittenRun(small_device(2), workload_of({launch_of(90, 100), launch_of(90, 100)})) {
    arrive(0, 0);
    arrive(1, 0);
  }
  ProgressRate progress;
  static constexpr ApplicationId first{0}, second{1};

 protected:
  void observed(const Event& event) override { progress.observe(event, state()); }
};

TEST(ProgressRate, PlacesOverMeanDuration) {
  ProgressRateOf run;
  run.run_block(0, 0, 0, 100);
  run.run_block(0, 1, 0, 300);
  EXPECT_EQ(run.progress.blocks(run.first), 2);
  EXPECT_DOUBLE_EQ(*run.progress.rate(run.first, 8), 8 / 200.0);
}

TEST(ProgressRate, AGroupCountsAsManyBlocksAsItHas) {
  ProgressRateOf run;
  run.start_group(0, 0, 3, 0);
  run.end_group(0, 0, 3, 0, 100);  // three of 100
  run.run_block(0, 1, 0, 500);
  EXPECT_EQ(run.progress.blocks(run.first), 4);
  EXPECT_DOUBLE_EQ(*run.progress.rate(run.first, 8), 8 / 200.0);
}

TEST(ProgressRate, ApplicationsAreKeptApart) {
  ProgressRateOf run;
  run.run_block(0, 0, 0, 100);
  EXPECT_EQ(run.progress.rate(run.second, 8), std::nullopt);
  run.run_block(1, 0, 0, 50);
  EXPECT_DOUBLE_EQ(*run.progress.rate(run.second, 1), 1 / 50.0);
}

TEST(ProgressRate, OnlyBlocksThatBeganInTheWindowCount) {
  ProgressRateOf run;
  run.start_block(0, 0, 0);
  run.progress.restart(Time(Duration(60)));
  run.end_block(0, 0, 0, 100);
  EXPECT_EQ(run.progress.blocks(run.first), 0);
  run.run_block(0, 0, 100, 150);
  EXPECT_DOUBLE_EQ(*run.progress.rate(run.first, 1), 1 / 50.0);
}

TEST(ProgressRate, NothingCountsWhilePausedNorWhatBeganBefore) {
  ProgressRateOf run;
  run.run_block(0, 0, 0, 100);
  run.progress.pause();
  run.run_block(0, 0, 100, 200);
  run.start_block(0, 0, 250);
  run.progress.resume(Time(Duration(300)));
  run.end_block(0, 0, 250, 400);
  EXPECT_EQ(run.progress.blocks(run.first), 1);
  run.run_block(0, 0, 400, 500);
  EXPECT_EQ(run.progress.blocks(run.first), 2);
}

}  // namespace
}  // namespace gpushare
