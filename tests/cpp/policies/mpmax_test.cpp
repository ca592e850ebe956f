// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/residency.hpp"
#include "hand_written_events.hpp"
#include "recorded_run.hpp"

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

// SRTF section 5.2.2: MPMax reserves room for one block of the other kernel on every SM. Where the first has 64 threads
// of 256 to spare anyway, its limit is not below what it could have, and the room is there all the same.
TEST(MpMax, RoomThatIsThereAnywayIsTheOthers) {
  const Trace trace =
      record(small_device(), workload_of({launch_of_threads(192, 5, 100), launch_of(2, 10)}, {0, 50}), "mpmax");
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(50, 60));
}

/// Room beside one block that is as demanding in each resource as the most demanding of the others.
int room_beside_the_others(const State& state, const RunningLaunch& launch) {
  BlockFootprint most;
  for (const RunningLaunch& other : state.running()) {
    if (other.id == launch.id) continue;
    const BlockFootprint block = footprint(state.device(), other.launch->kernel.needs);
    most = {.threads = std::max(most.threads, block.threads),
            .warps = std::max(most.warps, block.warps),
            .registers = std::max(most.registers, block.registers),
            .shared_memory_bytes = std::max(most.shared_memory_bytes, block.shared_memory_bytes)};
  }
  SmRoom room(state.device().per_sm);
  room.take(most);
  return std::clamp(room.count(footprint(state.device(), launch.launch->kernel.needs)), 1, launch.max_residency);
}

TEST(MpMax, NoLaunchReservesSmsForItself) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    std::vector<Launch> launches;
    for (int left = dice.between(2, 5); left > 0; --left) {
      launches.push_back(launch_of_threads(32 * dice.between(1, 3), 9, 100));
      launches.back().kernel.needs.shared_memory = Bytes{2048 * dice.between(0, 3)};
    }
    PolicyRehearsal run = rehearsal(launches);
    for (int launch = 0; launch < std::ssize(launches); ++launch) run.arrive(launch, 0);
    for (int launch = 0; launch < std::ssize(launches); ++launch) {
      EXPECT_THAT(run.quotas(launch), ElementsAre(room_beside_the_others(run.state(), run.running(launch))));
    }
  }
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
