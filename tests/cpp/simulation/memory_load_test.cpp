// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/memory_load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace gpushare {
namespace {

constexpr LoadDelay delay{.linear = 0.6, .saturating = 0.15};
constexpr OffSmBandwidth off_sm{.llc = {200e9}, .dram = {100e9}, .delay = delay};

/// Blocks of 1000 ns of which 600 are spent in memory; `bytes` of traffic each.
Traffic waiting(int blocks, double bytes, double llc_hit_ratio = 0, double dram_cost_ratio = 1) {
  return {.bytes = bytes,
          .llc_hit_ratio = llc_hit_ratio,
          .block_time = 1000,
          .blocks = blocks,
          .dram_cost_ratio = dram_cost_ratio,
          .wait = {.stall = 1000, .memory = 600}};
}

double time_of(const Traffic& traffic, double share) { return traffic.block_time / share; }

TEST(MemoryLoad, NextToNoTrafficWaitsForNothing) {
  EXPECT_NEAR(bandwidth_shares(std::array{waiting(1, 1e-6)}, off_sm).front(), 1, 1e-6);
}

TEST(MemoryLoad, SolvesTheEquationOfTheHeader) {
  for (const int blocks : {10, 100, 1000, 10'000}) {
    for (const double hits : {0.0, 0.5, 1.0}) {
      const Traffic traffic = waiting(blocks, 1000, hits);
      const double time = time_of(traffic, bandwidth_shares(std::array{traffic}, off_sm).front());
      // Near saturation the right side changes a thousand times as fast as the time, so the root is put in brackets.
      const auto excess = [&](double guess) {
        const double cache = std::min(blocks * 1000 / guess / 200, 1 - 1e-9);
        const double dram = std::min(blocks * 1000 * (1 - hits) / guess / 100, 1 - 1e-9);
        return 1000 + 600 * (delay.at(cache) + (1 - hits) * delay.at(dram)) - guess;
      };
      EXPECT_GT(excess(time * 0.998), 0) << blocks << ", " << hits;
      EXPECT_LT(excess(time * 1.002), 0) << blocks << ", " << hits;
    }
  }
}

TEST(MemoryLoad, ThroughputRisesWithBlocksAndStaysBelowTheBandwidth) {
  double before = 0;
  for (int blocks = 1; blocks < 100'000; blocks *= 3) {
    const Traffic traffic = waiting(blocks, 1000);
    const double rate = blocks * 1000 / time_of(traffic, bandwidth_shares(std::array{traffic}, off_sm).front());
    EXPECT_GT(rate, before);
    EXPECT_LT(rate, 100);
    before = rate;
  }
  EXPECT_GT(before, 99);
}

TEST(MemoryLoad, CostlyAccessesFillDramSooner) {
  const double cheap = bandwidth_shares(std::array{waiting(50, 1000)}, off_sm).front();
  EXPECT_LT(bandwidth_shares(std::array{waiting(50, 1000, 0, 1.5)}, off_sm).front(), cheap);
}

TEST(MemoryLoad, ACacheHitDoesNotWaitForDram) {
  const std::vector<double> shares = bandwidth_shares(std::array{waiting(10'000, 1000), waiting(1, 10, 1)}, off_sm);
  const double cache_use = shares[0] * 10'000 / 200;
  EXPECT_LT(shares[0], 0.02);
  EXPECT_NEAR(1 / shares[1], 1 + 0.6 * delay.at(cache_use), 1e-3);
}

TEST(MemoryLoad, BandwidthIsSharedInProportionToWhatIsOnItsWay) {
  const std::vector<double> shares = bandwidth_shares(std::array{waiting(9000, 1000), waiting(3000, 1000)}, off_sm);
  EXPECT_NEAR(shares[0], shares[1], 1e-6) << "per block alike, so three times as much for three times as many";
}

/// On so many SMs of a group of its own.
Traffic on(std::size_t group, int sms, Traffic traffic) {
  traffic.group = group;
  traffic.sms = sms;
  return traffic;
}

constexpr OffSmBandwidth cache_only{.llc = {200e9}, .delay = delay};

TEST(MemoryLoad, AFloodOfOthersCountsAtTheCacheAsMuchAsOnesOwnRequests) {
  const Traffic modest = on(1, 10, waiting(100, 100));
  const Traffic as_modest = on(0, 20, waiting(200, 100));
  const Traffic flood = on(0, 20, waiting(100'000, 1000));
  const double beside_the_like = bandwidth_shares(std::array{as_modest, modest}, cache_only).back();
  EXPECT_LT(beside_the_like, 0.99);
  EXPECT_NEAR(bandwidth_shares(std::array{flood, modest}, cache_only).back(), beside_the_like, 1e-6);
  EXPECT_LT(bandwidth_shares(std::array{on(1, 20, flood), modest}, cache_only).back(), 0.1) << "on the same SMs";
}

TEST(MemoryLoad, WhatTheModestLeaveIsForTheFlood) {
  const Traffic modest = on(0, 10, waiting(100, 100));
  const Traffic flood = on(1, 20, waiting(100'000, 1000));
  const std::vector<double> shares = bandwidth_shares(std::array{modest, flood}, cache_only);
  EXPECT_NEAR(100 * 100 / time_of(modest, shares[0]) + 100'000 * 1000 / time_of(flood, shares[1]), 200, 1);
}

TEST(MemoryLoad, SmsThatAskForTheSameAreOneQueue) {
  const Traffic whole = on(0, 30, waiting(300, 1000));
  const std::array parts{on(0, 10, waiting(100, 1000)), on(1, 20, waiting(200, 1000))};
  const double together = bandwidth_shares(std::array{whole}, cache_only).front();
  for (const double share : bandwidth_shares(parts, cache_only)) EXPECT_NEAR(share, together, 1e-5);
}

TEST(MemoryLoad, ThoseThatOnlyKnowTheirBytesKeepTheirFairShare) {
  Traffic fixed = waiting(20, 1000);
  fixed.wait = {};
  const Traffic patient = waiting(1, 1000);
  const std::vector<double> shares = bandwidth_shares(std::array{fixed, patient}, off_sm);
  EXPECT_EQ(shares[0], 1) << "21 bytes a nanosecond are less than 100";
  EXPECT_NEAR(1 / shares[1], 1 + 0.6 * (delay.at(21.0 / 200) + delay.at(21.0 / 100)), 1e-2);
}

TEST(MemoryLoad, WithoutADelayOnlyLimitsMatter) {
  OffSmBandwidth plain = off_sm;
  plain.delay = {};
  EXPECT_EQ(bandwidth_shares(std::array{waiting(50, 1000)}, plain).front(), 1);
  EXPECT_EQ(bandwidth_shares(std::array{waiting(200, 1000)}, plain).front(), 0.5);
}

TEST(MemoryLoad, NoLimitIsNoLoad) {
  const OffSmBandwidth endless{.delay = delay};
  EXPECT_EQ(bandwidth_shares(std::array{waiting(1'000'000, 1000)}, endless).front(), 1);
}

}  // namespace
}  // namespace gpushare
