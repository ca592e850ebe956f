// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_written_events.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

/// Three launches of 24 blocks on three SMs (8 each, R = 4); the first has been sampled: 100 ns per block.
PolicyRehearsal with_one_sampled() {
  PolicyRehearsal run("srtf", small_device(3), workload_of({launch_of(24, 1), launch_of(24, 1), launch_of(24, 1)}));
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  return run;
}

TEST(Srtf, TheFirstLaunchIsSampledWithTheGpuToItself) {
  PolicyRehearsal run("srtf", small_device(3), workload_of({launch_of(24, 1)}));
  run.arrive(0, 0);
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4));
}

TEST(Srtf, ANewcomerIsSampledOnOneSmAlone) {
  PolicyRehearsal run = with_one_sampled();
  run.arrive(1, 100);
  EXPECT_THAT(run.quotas(1), ElementsAre(4, 0, 0));
  EXPECT_THAT(run.quotas(0), ElementsAre(0, 4, 4));
}

TEST(Srtf, NewcomersAreSampledOneAtATimeInOrderOfArrival) {
  PolicyRehearsal run = with_one_sampled();
  run.arrive(2, 100);
  run.arrive(1, 110);
  EXPECT_THAT(run.quotas(2), ElementsAre(4, 0, 0));
  EXPECT_THAT(run.quotas(1), ElementsAre(0, 0, 0));
  run.run_block(2, 0, 110, 610);
  EXPECT_THAT(run.quotas(1), ElementsAre(4, 0, 0));
  EXPECT_THAT(run.quotas(0), ElementsAre(0, 4, 4));
}

TEST(Srtf, HandsOffToTheShorter) {
  PolicyRehearsal run = with_one_sampled();
  run.arrive(1, 100);
  run.run_block(1, 0, 100, 150);
  EXPECT_THAT(run.order(), ElementsAre(1, 0));
  EXPECT_THAT(run.quotas(1), ElementsAre(4, 4, 4));
}

TEST(Srtf, StaysWithTheOldWhereTheNewcomerIsLonger) {
  PolicyRehearsal run = with_one_sampled();
  run.arrive(1, 100);
  run.run_block(1, 0, 100, 400);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4));
}

TEST(Srtf, SwitchesBackWhenThePredictionGrows) {
  PolicyRehearsal run = with_one_sampled();
  run.arrive(1, 100);
  run.run_block(1, 0, 100, 150);
  ASSERT_THAT(run.order(), ElementsAre(1, 0));
  run.start_group(1, 1, 12, 150);
  run.end_group(1, 1, 12, 150, 60'000);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));
}

TEST(Srtf, APartOfAGridHasTheBlocksLeftThatAreExpectedHere) {
  for (const char* policy : {"srtf", "srtf:predictor=simple-slicing"}) {
    SCOPED_TRACE(policy);
    PolicyRehearsal run(policy, small_device(3), workload_of({launch_of(240, 1), launch_of(48, 1)}));
    run.arrive(0, 0);
    run.run_block(0, 0, 0, 100);
    run.arrive(1, 100);
    run.run_block(1, 0, 100, 200);
    run.run_block(0, 0, 200, 300);
    ASSERT_THAT(run.order(), ElementsAre(1, 0));
    run.expect_blocks(0, 24, 300);
    EXPECT_THAT(run.order(), ElementsAre(0, 1));
    run.expect_blocks(0, 120, 400);
    EXPECT_THAT(run.order(), ElementsAre(1, 0));
  }
}

TEST(Srtf, IsSampledUntilABlockHasHadTheSmToItself) {
  PolicyRehearsal run = with_one_sampled();
  run.start_block(0, 0, 100);
  run.arrive(1, 100);
  run.run_block(1, 0, 110, 510);  // seems to be longer
  EXPECT_THAT(run.quotas(1), ElementsAre(4, 0, 0));
  run.end_block(0, 0, 100, 520);
  run.run_block(1, 0, 520, 570);
  EXPECT_THAT(run.order(), ElementsAre(1, 0));
}

TEST(Srtf, TheShortestLaunchEvenWhenSharingIsNotSampledAgain) {
  PolicyRehearsal run = with_one_sampled();
  run.start_block(0, 0, 100);
  run.arrive(1, 100);
  run.run_block(1, 0, 110, 150);
  EXPECT_THAT(run.order(), ElementsAre(1, 0));
  EXPECT_THAT(run.quotas(1), ElementsAre(4, 4, 4));
}

TEST(Srtf, ALaunchWithoutBlocksIsSampledBeforeOneWithSharedBlocks) {
  PolicyRehearsal run = with_one_sampled();
  run.start_block(0, 0, 100);
  run.arrive(1, 100);
  run.run_block(1, 0, 110, 510);
  run.arrive(2, 520);
  EXPECT_THAT(run.order(), ElementsAre(2, 0, 1));
  EXPECT_THAT(run.quotas(2), ElementsAre(4, 0, 0));
}

TEST(Srtf, WhatASampleAndTheShortestLeaveIsForTheOthersThatAreKnown) {
  PolicyRehearsal run = with_one_sampled();
  run.arrive(1, 100);
  run.run_block(1, 0, 100, 400);
  run.arrive(2, 500);
  EXPECT_THAT(run.order(), ElementsAre(2, 0, 1));
  EXPECT_THAT(run.quotas(2), ElementsAre(4, 0, 0));
  EXPECT_THAT(run.quotas(0), ElementsAre(0, 4, 4));
  EXPECT_THAT(run.quotas(1), ElementsAre(0, 4, 4));
}

TEST(Srtf, SimpleSlicingRemembersNothing) {
  EXPECT_THROW(make_policy("srtf:predictor=simple-slicing:remember=yes"), InvalidInput);
}

TEST(Srtf, WhereNoBlockIsLeftToStartSamplingEnds) {
  PolicyRehearsal run("srtf", small_device(3), workload_of({launch_of(24, 1), launch_of(2, 1, "two blocks")}));
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  run.start_block(0, 0, 100);
  run.arrive(1, 100);
  run.start_block(1, 0, 110);
  run.run_block(1, 0, 110, 9'110);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));
}

TEST(Srtf, WithSimpleSlicingTheFirstBlockTells) {
  PolicyRehearsal run("srtf:predictor=simple-slicing", small_device(3),
                      workload_of({launch_of(24, 1), launch_of(24, 1)}));
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  run.start_block(0, 0, 100);
  run.arrive(1, 100);
  run.run_block(1, 0, 110, 510);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));
}

TEST(Srtf, OfTwoLaunchesOfSimilarRemainderTheRunningOneGoesOn) {
  PolicyRehearsal run = with_one_sampled();
  run.arrive(1, 100);
  run.run_block(1, 0, 100, 195);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));
}

TEST(Srtf, DoesNotDecideAgainWhileNothingNewIsKnown) {
  PolicyRehearsal run = with_one_sampled();
  const int before = run.plans();
  run.run_block(0, 0, 100, 300);
  EXPECT_EQ(run.plans(), before);
}

TEST(Srtf, AnEndHandsTheGpuToTheNext) {
  PolicyRehearsal run = with_one_sampled();
  run.arrive(1, 100);
  run.run_block(1, 0, 100, 150);
  run.end_launch(1, 400);
  EXPECT_THAT(run.order(), ElementsAre(0));
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4));
}

// SRTF, Fig. 12: the newcomer waits for SM 0 (sampling delay), is sampled there, then has every SM (hand-off delay).
TEST(Srtf, SamplesThenTakesOverAtBlockBoundary) {
  const Workload workload = workload_of({launch_of(80, 100), launch_of(12, 30)}, {0, 110});
  const Trace trace = record(small_device(2), workload, "srtf");
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(200, 200, 200, 200, 230, 230, 230, 230, 260, 260, 260, 260));
  EXPECT_THAT(block_sms(trace, 1), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(end_of(trace, 1), 290);
}

/// The second and third application launch the same kernel; the first has been sampled, and the second has ended.
PolicyRehearsal with_one_known(std::string_view policy) {
  PolicyRehearsal run(policy, small_device(3),
                      workload_of({launch_of(24, 1, "long"), launch_of(2, 1, "known"), launch_of(12, 1, "known")}));
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 1000);
  run.arrive(1, 1000);
  run.run_block(1, 0, 1000, 1100);
  run.run_block(1, 0, 1100, 1300);
  run.end_launch(1, 1300);
  run.arrive(2, 1300);
  return run;
}

TEST(Srtf, AKernelIsSampledAtEveryLaunchIfNothingIsRemembered) {
  EXPECT_THAT(with_one_known("srtf:remember=no").quotas(2), ElementsAre(4, 0, 0));
}

TEST(Srtf, AKernelIsSampledOnce) {
  PolicyRehearsal run = with_one_known("srtf");
  EXPECT_THAT(run.order(), ElementsAre(2, 0));
  EXPECT_THAT(run.quotas(2), ElementsAre(4, 4, 4));
}

TEST(Srtf, WhatIsRememberedNeedsNoNewPlan) {
  PolicyRehearsal run = with_one_known("srtf");
  const int before = run.plans();
  run.run_block(2, 0, 1300, 90'000);
  EXPECT_EQ(run.plans(), before);
  run.run_block(0, 1, 90'000, 90'100);
  EXPECT_EQ(run.plans(), before + 1);  // this one's block times are still learnt
}

}  // namespace
}  // namespace gpushare
