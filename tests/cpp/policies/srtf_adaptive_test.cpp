// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_written_events.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

/// Two launches on one SM with R = 4, both sampled at 100 ns per block, as if both had arrived just now.
/// A has `blocks_of_a` and B 160; alone they take 25 ns per block.
PolicyRehearsal both_sampled(int blocks_of_a) {
  PolicyRehearsal run("srtf-adaptive", small_device(), workload_of({launch_of(blocks_of_a, 1), launch_of(160, 1)}));
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.run_block(0, 0, -100, 0);
  run.run_block(1, 0, -100, 0);
  return run;
}

TEST(SrtfAdaptive, ShortBehindLongIsFairEnough) {
  // Slowdowns 1 and (60 + 160) / 160: 0.375 apart.
  const PolicyRehearsal run = both_sampled(60);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));
  EXPECT_THAT(run.quotas(0), ElementsAre(4));
  EXPECT_THAT(run.quotas(1), ElementsAre(4));
}

TEST(SrtfAdaptive, SharesWhereSlowdownsLieMoreThanHalfApart) {
  // Slowdowns 1 and (100 + 160) / 160: 0.625 apart.
  const PolicyRehearsal run = both_sampled(100);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));
  EXPECT_THAT(run.quotas(0), ElementsAre(3));
  EXPECT_THAT(run.quotas(1), ElementsAre(4));
}

// Its limit is all that it can have, and still leaves the rest of the SM to the others (section 5.1.2).
TEST(SrtfAdaptive, AFastestWithFewerThanThreeBlocksIsNotLimitedFurtherAndLeavesTheRest) {
  PolicyRehearsal run("srtf-adaptive", small_device(),
                      workload_of({launch_of_threads(128, 90, 1), launch_of_threads(128, 100, 1)}));
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.run_block(0, 0, -100, 0);
  run.run_block(1, 0, -100, 0);
  EXPECT_THAT(run.quotas(0), ElementsAre(2));
  EXPECT_TRUE(run.plan().shares.front().leaves_rest);
  EXPECT_FALSE(run.plan().shares.back().leaves_rest);
}

TEST(SrtfAdaptive, StaysInSharingWhileItIsFairer) {
  PolicyRehearsal run = both_sampled(100);
  run.run_block(0, 0, -100, 0);
  run.run_block(1, 0, -50, 0);
  EXPECT_THAT(run.quotas(0), ElementsAre(3));
}

TEST(SrtfAdaptive, ReturnsToTheOrderWhenSharingIsLessFair) {
  // Sharing makes the blocks of A thirty times as long: A ends long after B.
  PolicyRehearsal run = both_sampled(100);
  run.run_block(0, 0, -3000, 0);
  run.run_block(1, 0, -25, 0);
  EXPECT_THAT(run.quotas(run.order().front()), ElementsAre(4));
}

TEST(SrtfAdaptive, AnArrivalEndsSharing) {
  PolicyRehearsal run("srtf-adaptive", small_device(),
                      workload_of({launch_of(100, 1), launch_of(160, 1), launch_of(50, 1)}));
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.run_block(0, 0, -100, 0);
  run.run_block(1, 0, -100, 0);
  ASSERT_THAT(run.quotas(0), ElementsAre(3));
  run.arrive(2, 10);
  EXPECT_THAT(run.quotas(2), ElementsAre(4));  // it is being sampled on the only SM
  EXPECT_THAT(run.quotas(0), ElementsAre(0));
}

TEST(SrtfAdaptive, AnEndGivesTheOtherEverything) {
  PolicyRehearsal run = both_sampled(100);
  run.end_launch(1, 10);
  EXPECT_THAT(run.quotas(0), ElementsAre(4));
}

TEST(SrtfAdaptive, IsFairerThanSrtfToTwoEquals) {
  // Both arrive together and are equally long.
  const Workload workload = workload_of({launch_of(400, 100), launch_of(400, 100)});
  const Trace srtf = record(small_device(2), workload, "srtf");
  const Trace adaptive = record(small_device(2), workload, "srtf-adaptive");
  EXPECT_GT(end_of(adaptive, 0), end_of(srtf, 0));
  EXPECT_LE(end_of(adaptive, 1), end_of(srtf, 1));
}

}  // namespace
}  // namespace gpushare
