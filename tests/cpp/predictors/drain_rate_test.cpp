// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/drain_rate.hpp"

#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "hand_written_events.hpp"

namespace gpushare {
namespace {

using namespace test;

/// A hand-written run on two SMs, four blocks at a time. Launch 0 has 32 blocks, launch 1 has 8.
class DrainingRun : public HandWrittenRun {
 public:
  DrainingRun() : HandWrittenRun(small_device(2), workload_of({launch_of(32, 100), launch_of(8, 100)})) {
    arrive(0, 0);
  }
  DrainRate predictor;

  Duration remaining(int later = 0) const { return predictor.remaining(running(0), state().now() + Duration(later)); }
  /// Four blocks on this SM, which start and end together.
  void wave(int sm, std::int64_t started, std::int64_t ended) {
    start_group(0, sm, 4, started);
    end_group(0, sm, 4, started, ended);
  }

 protected:
  void observed(const Event& event) override { predictor.observe(event, state()); }
};

TEST(DrainRate, KnowsNothingBeforeTheFirstBlockEnds) {
  DrainingRun run;
  run.start_block(0, 0, 0);
  EXPECT_FALSE(run.predictor.has_sample(run.running(0)));
  EXPECT_THROW(run.remaining(), BrokenInvariant);
}

// 32 x 100 / 4 of SM time, of which two SMs have done 100 each.
TEST(DrainRate, EqualBlocksTakeWhatTheStaircaseSays) {
  DrainingRun run;
  run.start_group(0, 0, 4, 0);
  run.start_group(0, 1, 4, 0);
  run.end_group(0, 0, 4, 0, 100);
  run.end_group(0, 1, 4, 0, 100);
  EXPECT_EQ(run.remaining(), Duration(300));
}

// One block of 20 ended, three have run for 100: a quarter of each of the four in flight is done, so two blocks in 100.
// Of the other 31, one is done as well: 30 x 50 on two SMs.
TEST(DrainRate, OldBlocksInFlightAreLongOnes) {
  DrainingRun run;
  run.start_group(0, 0, 3, 0);
  run.start_block(0, 0, 80);
  run.end_block(0, 0, 80, 100);
  EXPECT_EQ(run.remaining(), Duration(750));
}

// A look comes later than the ends that it shows. Two blocks of 100 were seen ended after 105, so equal ones take
// 32 x 100 / 4 of SM time, 105 of which have passed. After 120 the other two are long ones: they and the two behind
// them count for one, and three blocks took 120.
TEST(DrainRate, BlocksInFlightMayBeSomewhatOlderThanEqualOnes) {
  DrainingRun soon;
  soon.start_group(0, 0, 4, 0);
  soon.end_group(0, 0, 2, 5, 105);
  EXPECT_EQ(soon.remaining(), Duration((800 - 105) / 2));
  DrainingRun late;
  late.start_group(0, 0, 4, 0);
  late.end_group(0, 0, 2, 20, 120);
  EXPECT_EQ(late.remaining(), Duration(29 * 40 / 2));
}

// 24 blocks are left, and four end in 100: 24 x 25 on two SMs. How long the first wave took does not matter.
TEST(DrainRate, TheRateSinceTheFirstReportTells) {
  DrainingRun run;
  run.wave(0, 0, 90);
  run.wave(0, 90, 190);
  EXPECT_EQ(run.remaining(), Duration(300));
}

// They have lost half: three tenths of that are expected once more.
TEST(DrainRate, BlockTimesThatFallFallOn) {
  DrainingRun run;
  run.wave(0, 0, 200);
  run.wave(0, 200, 300);
  EXPECT_EQ(run.remaining(), Duration(255));
}

TEST(DrainRate, WhatWasSeenOnOneSmHoldsForTheOther) {
  DrainingRun one;
  one.wave(0, 0, 100);
  one.wave(0, 100, 200);
  DrainingRun both;
  both.start_group(0, 0, 4, 0);
  both.start_group(0, 1, 4, 0);
  both.end_group(0, 0, 4, 0, 100);
  both.end_group(0, 1, 4, 0, 100);
  both.start_group(0, 0, 4, 100);
  both.start_group(0, 1, 4, 100);
  both.end_group(0, 0, 4, 100, 200);
  both.end_group(0, 1, 4, 100, 200);
  EXPECT_EQ(one.remaining(), Duration(24 * 25 / 2));
  EXPECT_EQ(both.remaining(), Duration(16 * 25 / 2));
}

TEST(DrainRate, BlocksThatEndAtOnceMayBeReportedOneByOne) {
  DrainingRun run;
  run.start_group(0, 0, 4, 0);
  for (int block = 0; block < 4; ++block) run.end_block(0, 0, 0, 100);
  run.start_group(0, 0, 4, 100);
  for (int block = 0; block < 4; ++block) run.end_block(0, 0, 100, 200);
  EXPECT_EQ(run.remaining(), Duration(300));
}

// Only one of the two SMs goes on with it.
TEST(DrainRate, TimeSinceTheLastReportCounts) {
  DrainingRun run;
  run.wave(0, 0, 100);
  run.wave(0, 100, 200);
  run.start_group(0, 0, 4, 200);
  EXPECT_EQ(run.remaining(50), Duration(275));
  EXPECT_EQ(run.remaining(10000), Duration(0));
}

// 20 are left when four of 200 have ended: 20 x 200 / 4 on two SMs.
TEST(DrainRate, ANewSliceCountsFromItsFirstBlockOn) {
  DrainingRun run;
  run.wave(0, 0, 100);
  run.wave(0, 100, 200);
  run.arrive(1, 200);
  EXPECT_EQ(run.remaining(), Duration(300)) << "an earlier slice holds until a block has ended";
  run.wave(0, 200, 400);
  EXPECT_EQ(run.remaining(), Duration(500));
  run.wave(0, 400, 560);
  EXPECT_EQ(run.remaining(), Duration(16 * 40 / 2 * 94 / 100)) << "blocks of 160 after such of 200";
}

TEST(DrainRate, ANewSliceBeginsWhenTheCallerSaysSo) {
  DrainingRun run;
  run.wave(0, 0, 100);
  run.wave(0, 100, 200);
  run.predictor.reslice();
  run.wave(0, 200, 400);
  EXPECT_EQ(run.remaining(), Duration(500));
}

}  // namespace
}  // namespace gpushare
