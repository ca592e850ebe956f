// SPDX-License-Identifier: Apache-2.0
#include "core/workers/worker_demand.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sample_devices.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(WorkerDemand, AddsUpWhatIsMissingAndWhere) {
  WorkerDemand demand;
  demand.add_sm(4, 1);
  demand.add_sm(4, 4);
  demand.add_sm(2, 5);  // too many here are none elsewhere
  demand.add_sm(0, 0);
  demand.add_sm(3, 0);
  EXPECT_EQ(demand.wanted, 13);
  EXPECT_EQ(demand.missing, 6);
  EXPECT_EQ(demand.lacking_sms, 2);
}

TEST(WorkerDemand, WhereNothingIsMissingNothingIsLaunched) {
  WorkerDemand demand;
  demand.add_sm(4, 4);
  EXPECT_EQ(workers_to_launch(demand, 1, 1, 4), 0);
  EXPECT_EQ(workers_to_launch({}, 1, 1, 4), 0);
}

TEST(WorkerDemand, AWholeEmptyGpuGetsExactlyWhatItLacks) {
  WorkerDemand demand;
  for (int sm = 0; sm < 132; ++sm) demand.add_sm(8, 0);
  EXPECT_EQ(workers_to_launch(demand, 132, 132, 8), 132 * 8);
}

TEST(WorkerDemand, WhatLacksOnOneSmIsAskedForEverywhere) {
  WorkerDemand demand;
  demand.add_sm(1, 0);
  EXPECT_EQ(workers_to_launch(demand, 132, 132, 8), 132);
}

TEST(WorkerDemand, ALaunchHasWhatIsMissingAndFillsTheGpuAtMostTwice) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Dice dice(seed);
    const int sms = dice.between(1, 150);
    const int residency = dice.between(1, 32);
    WorkerDemand demand;
    for (int sm = 0; sm < sms; ++sm) demand.add_sm(dice.between(0, residency), dice.between(0, 2 * residency));
    const int workers = workers_to_launch(demand, sms, sms, residency);
    ASSERT_GE(workers, demand.missing) << "seed " << seed;
    ASSERT_LE(workers, 2 * sms * residency) << "seed " << seed;
    // Spread evenly, every lacking SM gets its mean share, if the bound allows.
    const bool bounded = workers == 2 * sms * residency;
    ASSERT_TRUE(bounded || std::int64_t{workers} * demand.lacking_sms >= std::int64_t{demand.missing} * sms)
        << "seed " << seed;
  }
}

TEST(Chunk, LongerBlocksAreNeverClaimedMoreAtATime) {
  std::uint32_t last = 16;
  for (int ns = 1; ns < 30'000; ++ns) {
    const std::uint32_t chunk = chunk_for(Duration(ns));
    ASSERT_LE(chunk, last) << ns << " ns";
    ASSERT_GE(chunk, 1U);
    last = chunk;
  }
  EXPECT_EQ(last, 1U);
}

TEST(Chunk, HoldsAtMostEightMicrosecondsOfWork) {
  EXPECT_EQ(chunk_for(Duration(1)), 16U);
  EXPECT_EQ(chunk_for(Duration(500)), 16U);
  EXPECT_EQ(chunk_for(Duration(501)), 15U);
  EXPECT_EQ(chunk_for(Duration(1'200)), 6U);
  EXPECT_EQ(chunk_for(Duration(4'000)), 2U);
  EXPECT_EQ(chunk_for(Duration(4'001)), 1U);
  EXPECT_EQ(chunk_for(Duration(3'600'000'000'000)), 1U);
}

TEST(Chunk, HoldsAsMuchWorkAsTheDeviceSays) {
  const RuntimeTuning tuning{.work_per_claim = Duration(2'000)};
  EXPECT_EQ(chunk_for(Duration(500), tuning), 4U);
  EXPECT_EQ(chunk_for(Duration(2'001), tuning), 1U);
  EXPECT_EQ(chunk_for(Duration(500), {.work_per_claim = {}}), 1U);
}

TEST(Chunk, OfUnknownBlocksIsOne) {
  EXPECT_EQ(chunk_for(Duration{}), 1U);
  EXPECT_EQ(chunk_for(Duration(-5)), 1U);
}

TEST(Guide, IsTheLogarithmOfFourTimesTheWorkers) {
  for (int workers = 1; workers < 5'000; ++workers) {
    ASSERT_EQ(guide_for(workers), static_cast<std::uint32_t>(std::floor(std::log2(4.0 * workers)))) << workers;
  }
}

TEST(Guide, NoWorkersCountAsOne) { EXPECT_EQ(guide_for(0), guide_for(1)); }

}  // namespace
}  // namespace gpushare
