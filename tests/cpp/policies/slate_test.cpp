// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/partitioning/slate_table.hpp"
#include "hand_written_events.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;

/// 10 SMs of four blocks of 64 threads.
Device device() {
  Device device = small_device(10);
  device.off_sm.dram = Bandwidth{40e9};
  device.flops_per_s = 1e12;
  return device;
}

/// L_C: scales with SMs, and draws next to nothing.
Launch modest(std::int64_t blocks = 4000) { return launch_of(blocks, 1000); }

/// H_M: fills the memory from four of ten SMs.
Launch stream() {
  Launch launch = launch_of(4000, 1000);
  launch.kernel.cost.off_sm = Bytes{2500};
  return launch;
}

/// M_M, within the SMs: half of the memory's bandwidth with all of them.
Launch half_stream() {
  Launch launch = launch_of(4000, 1000);
  launch.kernel.cost.off_sm = Bytes{500};
  return launch;
}

Launch unprofiled() {
  Launch launch = modest();
  launch.kernel.is_profiled = false;
  return launch;
}

PolicyRehearsal slate_rehearsal(const std::vector<Launch>& launches, const char* policy = "slate") {
  return {policy, device(), workload_of(launches)};
}

int slate_sms_of(const PolicyRehearsal& run, int launch) {
  const std::vector<int> quotas = run.quotas(launch);
  return std::accumulate(quotas.begin(), quotas.end(), 0) / 4;
}

TEST(Slate, Table1IsAsPrinted) {
  using enum SlateClass;
  const SlateClass order[] = {LowCompute, MediumCompute, HighCompute, MediumMemory, HighMemory};
  std::string printed;
  for (const SlateClass running : order) {
    for (const SlateClass candidate : order) printed += is_complementary(running, candidate) ? 'c' : 's';
    printed += ' ';
  }
  EXPECT_EQ(printed,
            "ccscc ccssc ssssc csc"
            "ss ccsss ");
  EXPECT_EQ(std::ranges::count(printed, 'c'), 12);
}

TEST(Slate, TheKernelsOfTheseTestsAreOfTheClassesThatTheyStandFor) {
  EXPECT_EQ(slate_class(device(), modest()), SlateClass::LowCompute);
  EXPECT_EQ(slate_class(device(), stream()), SlateClass::HighMemory);
  EXPECT_EQ(slate_class(device(), half_stream()), SlateClass::MediumMemory);
}

TEST(Slate, AloneALaunchHasEverySm) {
  PolicyRehearsal run = slate_rehearsal({stream()});
  run.arrive(0, 0);
  EXPECT_THAT(run.quotas(0), Each(4));
}

TEST(Slate, ComplementaryLaunchesHaveSmsOfTheirOwn) {
  PolicyRehearsal run = slate_rehearsal({stream(), modest()});
  run.arrive(0, 0);
  run.arrive(1, 100);
  // Four SMs fill the memory, so that a fifth would be lost to the other.
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4, 4, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(run.quotas(1), ElementsAre(0, 0, 0, 0, 4, 4, 4, 4, 4, 4));
}

TEST(Slate, OthersWaitInOrderOfArrival) {
  PolicyRehearsal run = slate_rehearsal({stream(), half_stream(), stream()});
  for (const int launch : {0, 1, 2}) run.arrive(launch, launch);
  EXPECT_THAT(run.order(), ElementsAre(0));
  run.end_launch(0, 500);
  EXPECT_THAT(run.order(), ElementsAre(1));
}

TEST(Slate, TheFirstCompatibleLaunchOfTheQueueIsChosen) {
  PolicyRehearsal run = slate_rehearsal({stream(), half_stream(), modest(), modest()});
  for (const int launch : {0, 1, 2, 3}) run.arrive(launch, launch);
  EXPECT_THAT(run.order(), ElementsAre(0, 2));
}

TEST(Slate, ARunningLaunchStaysAndDeterminesTheNext) {
  PolicyRehearsal run = slate_rehearsal({stream(), modest(), half_stream()}, "slate:patience_ns=0");
  for (const int launch : {0, 1, 2}) run.arrive(launch, launch);
  run.end_launch(0, 500);
  EXPECT_THAT(run.order(), ElementsAre(1, 2));
  EXPECT_GT(slate_sms_of(run, 2), 0);
}

TEST(Slate, RangesGrowWhenACoRunnerEndsAndShrinkWhenOneComes) {
  PolicyRehearsal run = slate_rehearsal({modest(), modest(), modest()}, "slate:patience_ns=0");
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_EQ(slate_sms_of(run, 1), 5);
  run.end_launch(0, 500);
  EXPECT_EQ(slate_sms_of(run, 1), 10);
  run.arrive(2, 500);
  EXPECT_THAT(run.quotas(1), ElementsAre(4, 4, 4, 4, 4, 0, 0, 0, 0, 0));
}

TEST(Slate, APlaceIsKeptForTheApplicationsNextLaunchForAMoment) {
  PolicyRehearsal run = slate_rehearsal({stream(), modest(), unprofiled()});
  for (const int launch : {0, 1, 2}) run.arrive(launch, 0);
  const std::vector<int> before = run.quotas(1);
  run.end_launch(0, 500);
  EXPECT_EQ(run.quotas(1), before);
  EXPECT_THAT(run.order(), ElementsAre(1));
  EXPECT_EQ(run.plan().wake_at, Time(Duration(500 + 50'000)));
  run.reach_deadline(500 + 50'000);
  EXPECT_EQ(slate_sms_of(run, 1), 10);
  EXPECT_FALSE(run.plan().wake_at.has_value());
}

TEST(Slate, AWaitingCompatibleLaunchTakesAFreeSlotAtOnce) {
  PolicyRehearsal run = slate_rehearsal({stream(), modest(), half_stream()});
  for (const int launch : {0, 1, 2}) run.arrive(launch, 0);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));
  run.end_launch(0, 500);
  EXPECT_THAT(run.order(), ElementsAre(1, 2));
  run.arrive(0, 500);
  EXPECT_THAT(run.order(), ElementsAre(1, 2));
}

TEST(Slate, APlaceIsNotKeptForAnApplicationThatHasEnded) {
  PolicyRehearsal run = slate_rehearsal({stream(), modest()});
  for (const int launch : {0, 1}) run.arrive(launch, 0);
  run.end_launch(0, 500);
  run.end_application(0, 500);
  EXPECT_EQ(slate_sms_of(run, 1), 10);
}

TEST(Slate, ACoRunnersNextLaunchTakesItsSmsWithoutMovingOthers) {
  PolicyRehearsal run = slate_rehearsal({stream(), modest()});
  run.arrive(0, 0);
  run.arrive(1, 100);
  const std::vector<int> before = run.quotas(1);
  run.end_launch(0, 200);
  run.arrive(0, 200);
  EXPECT_EQ(run.quotas(1), before);
}

TEST(Slate, AnUnprofiledKernelRunsAloneEitherWay) {
  PolicyRehearsal first = slate_rehearsal({unprofiled(), modest()});
  PolicyRehearsal second = slate_rehearsal({modest(), unprofiled()});
  for (PolicyRehearsal* run : {&first, &second}) {
    run->arrive(0, 0);
    run->arrive(1, 1);
    EXPECT_THAT(run->order(), ElementsAre(0));
    EXPECT_THAT(run->quotas(0), Each(4));
  }
}

TEST(Slate, ALaunchOfFewBlocksGetsNoMoreSmsThanItCanUse) {
  // 12 blocks fill three SMs, however many more there are.
  PolicyRehearsal run = slate_rehearsal({modest(12), modest()});
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_EQ(slate_sms_of(run, 0), 3);
  EXPECT_EQ(slate_sms_of(run, 1), 7);
}

TEST(Slate, MoreThanTwoGoTogetherWhereTheOptionSaysSo) {
  PolicyRehearsal run = slate_rehearsal({stream(), modest(), modest()}, "slate:together=3");
  for (const int launch : {0, 1, 2}) run.arrive(launch, launch);
  EXPECT_THAT(run.order(), ElementsAre(0, 1, 2));
  EXPECT_EQ(slate_sms_of(run, 0) + slate_sms_of(run, 1) + slate_sms_of(run, 2), 10);
  EXPECT_EQ(slate_sms_of(run, 1), slate_sms_of(run, 2));
}

TEST(Slate, WhatIsLeftGoesToTheQueueWhereTheOptionSaysSo) {
  PolicyRehearsal run = slate_rehearsal({stream(), stream()}, "slate:queue_gets_leftover=yes");
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));
  EXPECT_THAT(run.quotas(1), Each(4));
}

TEST(Slate, BalanceGivesTheScarceSideMore) {
  PolicyRehearsal run = slate_rehearsal({stream(), modest()}, "slate:sizes=balance");
  run.arrive(0, 0);
  run.arrive(1, 0);
  // With three SMs the stream is at 0.75 and the other at 0.7; with four the other would be at 0.6.
  EXPECT_EQ(slate_sms_of(run, 0), 3);
}

}  // namespace
}  // namespace gpushare
