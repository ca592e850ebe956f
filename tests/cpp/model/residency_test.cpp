// SPDX-License-Identifier: Apache-2.0
#include "core/model/residency.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

struct Occupancy {
  const char* what;
  BlockNeeds needs;
  int residency;
  const char* tightest;
};

void PrintTo(const Occupancy& occupancy, std::ostream* out) { *out << occupancy.what; }

class Gtx480 : public testing::TestWithParam<Occupancy> {};

TEST_P(Gtx480, AgreesWithTheSrtfPaper) {
  const ResidencyLimits limits = residency_limits(gtx480_like(), GetParam().needs);
  EXPECT_EQ(limits.smallest(), GetParam().residency) << GetParam().what;
  EXPECT_EQ(limits.tightest(), GetParam().tightest) << GetParam().what;
}

// SRTF, Table 2 and its footnote on the instrumented render kernel.
INSTANTIATE_TEST_SUITE_P(
    SrtfTable2, Gtx480,
    testing::Values(Occupancy{"AES", {.threads = 256, .registers_per_thread = 20}, 6, "threads"},
                    Occupancy{"RayTracing", {.threads = 128, .registers_per_thread = 43}, 5, "registers"},
                    Occupancy{"RayTracing, instrumented", {.threads = 128, .registers_per_thread = 42}, 6, "registers"},
                    Occupancy{"JPEG, NLM2, SHA1", {.threads = 64, .registers_per_thread = 20}, 8, "block slots"},
                    Occupancy{"SAD", {.threads = 61, .registers_per_thread = 20}, 8, "block slots"}));

class H100 : public testing::TestWithParam<Occupancy> {};

TEST_P(H100, AgreesWithTheOccupancyCalculator) {
  const ResidencyLimits limits = residency_limits(h100_like(), GetParam().needs);
  EXPECT_EQ(limits.smallest(), GetParam().residency) << GetParam().what;
  EXPECT_EQ(limits.tightest(), GetParam().tightest) << GetParam().what;
  EXPECT_EQ(max_residency(h100_like(), GetParam().needs), GetParam().residency) << GetParam().what;
}

constexpr std::int64_t kib = 1024;

INSTANTIATE_TEST_SUITE_P(
    ByHand, H100,
    testing::Values(
        Occupancy{"2048 / 256 threads", {.threads = 256, .registers_per_thread = 32}, 8, "threads"},
        Occupancy{
            "64 / 3 warps, the last one nearly empty", {.threads = 65, .registers_per_thread = 16}, 21, "threads"},
        Occupancy{
            "65536 / (32 warps of 64 x 32 registers)", {.threads = 1024, .registers_per_thread = 64}, 1, "registers"},
        Occupancy{"12 warps of 168 x 32 registers", {.threads = 128, .registers_per_thread = 168}, 3, "registers"},
        Occupancy{
            "51 warps of 1280 registers are 48 in fours", {.threads = 96, .registers_per_thread = 40}, 16, "registers"},
        Occupancy{"33 x 32 registers are 1280 in units of 256",
                  {.threads = 1024, .registers_per_thread = 33},
                  1,
                  "registers"},
        Occupancy{"32 slots", {.threads = 32, .registers_per_thread = 16}, 32, "block slots"},
        Occupancy{"228 / (48 + 1) KB",
                  {.threads = 128, .registers_per_thread = 32, .shared_memory = Bytes{48 * kib}},
                  4,
                  "shared memory"},
        Occupancy{"227 + 1 KB: all of it", {.threads = 128, .shared_memory = Bytes{227 * kib}}, 1, "shared memory"},
        Occupancy{"11024 bytes are 11136 in units of 128",
                  {.threads = 64, .shared_memory = Bytes{10000}},
                  20,
                  "shared memory"}));

TEST(Residency, IsZeroWhenNoBlockFits) {
  EXPECT_EQ(max_residency(h100_like(), {.threads = 2049}), 0);
  EXPECT_EQ(max_residency(h100_like(), {.threads = 32, .shared_memory = Bytes{228 * kib}}), 0);
}

TEST(Residency, NoRegistersAreNoLimit) { EXPECT_GT(residency_limits(h100_like(), {.threads = 32}).by_registers, 1000); }

TEST(Residency, ALimitIsNamedAfterTheResourceThatSetsIt) {
  EXPECT_EQ((ResidencyLimits{1, 2, 2, 2}.tightest()), "block slots");
  EXPECT_EQ((ResidencyLimits{2, 1, 2, 2}.tightest()), "threads");
  EXPECT_EQ((ResidencyLimits{2, 2, 1, 2}.tightest()), "registers");
  EXPECT_EQ((ResidencyLimits{2, 2, 2, 1}.tightest()), "shared memory");
}

TEST(Residency, AFootprintIsRoundedUpToTheAllocationUnits) {
  const BlockFootprint block =
      footprint(h100_like(), {.threads = 65, .registers_per_thread = 33, .shared_memory = Bytes{1}});
  EXPECT_EQ(block.threads, 65);
  EXPECT_EQ(block.warps, 3);
  EXPECT_EQ(block.registers, 3 * 1280);
  EXPECT_EQ(block.shared_memory_bytes, 1024 + 128);
}

TEST(SmRoom, HoldsExactlyWhatTheScarcestResourceAllows) {
  const SmCapacity sm{.threads = 100, .warps = 10, .blocks = 5, .registers = 1000, .shared_memory = Bytes{400}};
  const std::vector<std::pair<BlockFootprint, int>> cases{{{1, 1, 1, 1}, 5},   {{30, 1, 1, 1}, 3},  {{1, 3, 1, 1}, 3},
                                                          {{1, 1, 400, 1}, 2}, {{1, 1, 1, 399}, 1}, {{1, 11, 1, 1}, 0}};
  for (const auto& [block, blocks] : cases) {
    SmRoom room(sm);
    EXPECT_EQ(room.count(block), blocks);
    for (int taken = 0; taken < blocks; ++taken) {
      EXPECT_TRUE(room.fits(block));
      room.take(block);
    }
    EXPECT_FALSE(room.fits(block));
  }
}

TEST(ResidencyBeside, IsWhatTheOthersLeave) {
  const BlockNeeds needs{.threads = 64};
  const BlockNeeds twice{.threads = 128};
  EXPECT_EQ(residency_beside(small_device(), needs, twice, 0), 4);
  EXPECT_EQ(residency_beside(small_device(), needs, twice, 1), 2);
  EXPECT_EQ(residency_beside(small_device(), needs, twice, 2), 0);
}

TEST(SmRoom, WhatIsGivenBackCanBeTakenAgain) {
  const BlockFootprint block{.threads = 100, .warps = 4, .registers = 1000, .shared_memory_bytes = 4000};
  SmRoom room(small_device().per_sm);
  const int before = room.count(block);
  room.take(block);
  EXPECT_EQ(room.count(block), before - 1);
  room.give_back(block);
  EXPECT_EQ(room.count(block), before);
}

TEST(SmRoom, CountsToALimitAsItCountsWithoutOne) {
  Dice dice(2);
  for (int round = 0; round < 2000; ++round) {
    const Device device = random_device(dice);
    const BlockFootprint taken = footprint(device, random_needs(dice, device));
    const BlockFootprint block = footprint(device, random_needs(dice, device));
    SmRoom room(device.per_sm);
    room.take(taken, round % 7);  // perhaps more than there is
    for (const int most : {-1, 0, 1, 2, 5, 1000}) {
      EXPECT_EQ(room.count(block, most), std::clamp(room.count(block), 0, std::max(0, most)));
    }
  }
}

TEST(SmRoom, ABlockThatNeedsNoneOfAnOverdrawnResourceFits) {
  SmRoom room({.threads = 100, .warps = 10, .blocks = 5, .registers = 1000, .shared_memory = Bytes{400}});
  room.take({.threads = 1, .warps = 1, .registers = 1, .shared_memory_bytes = 500});
  const BlockFootprint block{.threads = 1, .warps = 1, .registers = 1, .shared_memory_bytes = 0};
  EXPECT_EQ(room.count(block), 4);
  EXPECT_EQ(room.count(block, 3), 3);
}

TEST(SmRoom, NeverHoldsFewerBlocksThanTheMaximumResidency) {
  Dice dice(1);
  for (int round = 0; round < 2000; ++round) {
    const Device device = random_device(dice);
    const BlockNeeds needs = random_needs(dice, device);
    EXPECT_GE(SmRoom(device.per_sm).count(footprint(device, needs)), max_residency(device, needs));
  }
}

}  // namespace
}  // namespace gpushare
