// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_written_events.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

// On small_device() an SM has 4 block slots, 256 threads and 16384 bytes of shared memory.
PolicyRehearsal rehearsal(const std::vector<Launch>& launches, const std::vector<std::int64_t>& arrivals_ns = {}) {
  return {"mpmax", small_device(), workload_of(launches, arrivals_ns)};
}

TEST(MpMax, AloneALaunchHasEverything) {
  PolicyRehearsal run = rehearsal({launch_of(9, 100)});
  run.arrive(0, 0);
  EXPECT_THAT(run.quotas(0), ElementsAre(4));
}

TEST(MpMax, EachSetsAsideRoomForOneBlockOfTheOther) {
  PolicyRehearsal run = rehearsal({launch_of(9, 100), launch_of_threads(128, 9, 100)});
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));
  EXPECT_THAT(run.quotas(0), ElementsAre(2));  // 256 - 128 threads leave room for two blocks of 64
  EXPECT_THAT(run.quotas(1), ElementsAre(1));  // 256 - 64 threads leave room for one block of 128
}

TEST(MpMax, TheReservationIsAsDemandingAsTheMostDemandingInEachResource) {
  Launch memory_hungry = launch_of_threads(32, 9, 100);
  memory_hungry.kernel.needs.shared_memory = Bytes{12288};
  Launch modest = launch_of_threads(32, 9, 100);
  modest.kernel.needs.shared_memory = Bytes{4096};
  PolicyRehearsal run = rehearsal({modest, memory_hungry, launch_of_threads(192, 9, 100)});
  for (int launch = 0; launch < 3; ++launch) run.arrive(launch, 0);
  // 192 threads and 12288 bytes are set aside: 64 threads and 4096 bytes are left.
  EXPECT_THAT(run.quotas(0), ElementsAre(1));
}

TEST(MpMax, WhatWasSetAsideReturnsWhenTheOtherEnds) {
  PolicyRehearsal run = rehearsal({launch_of(9, 100), launch_of(9, 100)});
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_THAT(run.quotas(0), ElementsAre(3));
  run.end_launch(1, 500);
  EXPECT_THAT(run.quotas(0), ElementsAre(4));
}

TEST(MpMax, OneBlockEachWhereBothDoNotFit) {
  PolicyRehearsal run = rehearsal({launch_of_threads(256, 9, 100), launch_of_threads(256, 9, 100)});
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_THAT(run.quotas(0), ElementsAre(1));
  EXPECT_THAT(run.quotas(1), ElementsAre(1));
}

TEST(MpMax, LaunchesWithinAHundredCyclesKnowOfEachOther) {
  PolicyRehearsal run = rehearsal({launch_of(9, 100), launch_of(9, 100)}, {0, 100});
  run.arrive(0, 0);
  EXPECT_THAT(run.quotas(0), ElementsAre(3));
}

TEST(MpMax, ALaterLaunchIsNotForeseen) {
  PolicyRehearsal run = rehearsal({launch_of(9, 100), launch_of(9, 100)}, {0, 101});
  run.arrive(0, 0);
  EXPECT_THAT(run.quotas(0), ElementsAre(4));
}

// 88 registers per thread: the register file holds 23 such warps, in fours 20, and R is 20.
TEST(MpMax, NeverGivesMoreThanTheMaximumResidency) {
  Launch odd = launch_of_threads(32, 99, 100);
  odd.kernel.needs.registers_per_thread = 88;
  Launch tiny = launch_of_threads(32, 99, 100);
  PolicyRehearsal run("mpmax", h100_like(), workload_of({odd, tiny}));
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_EQ(run.running(0).max_residency, 20);
  EXPECT_LE(run.quotas(0).front(), 20);
}

}  // namespace
}  // namespace gpushare
