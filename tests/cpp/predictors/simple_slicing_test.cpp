// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/simple_slicing.hpp"

#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "hand_written_events.hpp"

namespace gpushare {
namespace {

using namespace test;

/// A hand-written run on two SMs that a predictor watches. Launch 0 has 32 blocks (16 per SM), launch 1 has 8.
class WatchedRun : public HandWrittenRun {
 public:
  WatchedRun() : HandWrittenRun(small_device(2), workload_of({launch_of(32, 100), launch_of(8, 100)})) {}
  SimpleSlicing predictor;

  Duration block_time(int launch, int sm) const { return predictor.block_time(running(launch), static_cast<SmId>(sm)); }
  Duration remaining(int launch, int sm) const { return predictor.remaining(running(launch), static_cast<SmId>(sm)); }

 protected:
  void observed(const Event& event) override { predictor.observe(event, state()); }
};

TEST(SimpleSlicing, KnowsNothingBeforeTheFirstBlockEnds) {
  WatchedRun run;
  run.arrive(0, 0);
  run.start_block(0, 0, 0);
  EXPECT_FALSE(run.predictor.has_sample(run.running(0)));
  EXPECT_FALSE(run.predictor.changed());
  EXPECT_THROW(run.block_time(0, 0), BrokenInvariant);
}

TEST(SimpleSlicing, TheFirstBlockOfASliceGivesT) {
  WatchedRun run;
  run.arrive(0, 0);
  run.run_block(0, 0, 10, 110);
  EXPECT_TRUE(run.predictor.has_sample(run.running(0)));
  EXPECT_TRUE(run.predictor.changed());
  EXPECT_EQ(run.block_time(0, 0), Duration(100));
}

// Of the 16 blocks of SM 0, eight are done: 8 x 70 / 4 remain.
TEST(SimpleSlicing, AGroupGivesItsMeanDurationAndCountsAllItsBlocks) {
  WatchedRun run;
  run.arrive(0, 0);
  run.start_group(0, 0, 8, 0);
  run.end_group(0, 0, 8, 30, 100);
  EXPECT_EQ(run.block_time(0, 0), Duration(70));
  EXPECT_EQ(run.remaining(0, 0), Duration(140));
}

TEST(SimpleSlicing, LaterBlocksOfTheSliceDoNotCount) {
  WatchedRun run;
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  run.run_block(0, 0, 100, 900);
  EXPECT_FALSE(run.predictor.changed());
  EXPECT_EQ(run.block_time(0, 0), Duration(100));
}

TEST(SimpleSlicing, EverySmMeasuresForItself) {
  WatchedRun run;
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  run.run_block(0, 1, 0, 300);
  EXPECT_EQ(run.block_time(0, 0), Duration(100));
  EXPECT_EQ(run.block_time(0, 1), Duration(300));
  EXPECT_EQ(run.predictor.block_time(run.running(0)), Duration(200));
}

TEST(SimpleSlicing, AnSmWithoutASampleTakesTheLatestOfAnother) {
  WatchedRun run;
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  EXPECT_EQ(run.block_time(0, 1), Duration(100));
}

TEST(SimpleSlicing, AnArrivalBeginsANewSliceForAllLaunches) {
  WatchedRun run;
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  run.arrive(1, 100);
  EXPECT_FALSE(run.predictor.has_fresh_sample(run.running(0)));
  EXPECT_TRUE(run.predictor.has_sample(run.running(0)));
  run.run_block(0, 0, 100, 350);
  EXPECT_EQ(run.block_time(0, 0), Duration(250));
}

TEST(SimpleSlicing, AnEndBeginsANewSliceForAllLaunches) {
  WatchedRun run;
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.run_block(0, 0, 0, 100);
  run.end_launch(1, 100);
  run.run_block(0, 0, 100, 170);
  EXPECT_EQ(run.block_time(0, 0), Duration(70));
}

TEST(SimpleSlicing, ANewSliceBeginsWhenTheCallerSaysSo) {
  WatchedRun run;
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  run.predictor.reslice();
  run.run_block(0, 0, 100, 230);
  EXPECT_EQ(run.block_time(0, 0), Duration(130));
}

TEST(SimpleSlicing, ASampleOfAnEarlierSliceHoldsUntilANewOneComes) {
  WatchedRun run;
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  run.run_block(0, 1, 0, 300);
  run.predictor.reslice();
  run.run_block(0, 0, 300, 500);
  EXPECT_EQ(run.block_time(0, 0), Duration(200));
  EXPECT_EQ(run.block_time(0, 1), Duration(300));
}

// Eq. 2 without its first term: (16 - 2) x 100 / 4.
TEST(SimpleSlicing, WhatRemainsIsTheBlocksLeftTimesTOverResidency) {
  WatchedRun run;
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  run.run_block(0, 0, 0, 100);
  EXPECT_EQ(run.remaining(0, 0), Duration(350));
  EXPECT_EQ(run.remaining(0, 1), Duration(400));
  EXPECT_EQ(run.predictor.remaining(run.running(0)), Duration(375));
}

TEST(SimpleSlicing, WhatRemainsFollowsEveryEndAndEverySample) {
  WatchedRun run;
  const auto remaining = [&run] { return run.predictor.remaining(run.running(0)); };
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  EXPECT_EQ(remaining(), Duration(375 / 2 + 400 / 2));
  run.run_block(0, 0, 0, 100);
  EXPECT_EQ(remaining(), Duration(350 / 2 + 400 / 2));
  run.run_block(0, 1, 0, 200);
  EXPECT_EQ(remaining(), Duration(350 / 2 + 750 / 2));
  EXPECT_EQ(run.predictor.block_time(run.running(0)), Duration(150));
  run.end_launch(0, 200);
  run.arrive(0, 200);
  EXPECT_FALSE(run.predictor.has_sample(run.running(0)));
  run.run_block(0, 0, 200, 240);
  EXPECT_EQ(remaining(), Duration(150 / 2 + 160 / 2));
}

TEST(SimpleSlicing, AnSmThatRanMoreThanItsPartHasNothingLeft) {
  WatchedRun run;
  run.arrive(1, 0);
  for (int block = 0; block < 6; ++block) run.run_block(1, 0, 0, 100);
  EXPECT_EQ(run.remaining(1, 0), Duration(0));
  EXPECT_EQ(run.remaining(1, 1), Duration(100));
}

// Eq. 2: active time so far + what remains. Active from 50 to 150 and from 200 on; (16 - 1) x 100 / 4 remain.
TEST(SimpleSlicing, TheRuntimeAddsTheActiveTime) {
  WatchedRun run;
  run.arrive(0, 0);
  run.run_block(0, 0, 50, 150);
  run.start_block(0, 0, 200);
  EXPECT_EQ(run.predictor.runtime(run.running(0), SmId{0}, Time(Duration(230))), Duration(100 + 30 + 375));
}

}  // namespace
}  // namespace gpushare
