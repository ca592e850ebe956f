// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/simulation/contention.hpp"
#include "sample_devices.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::DoubleNear;
using testing::ElementsAre;

auto about(double value) { return DoubleNear(value, 1e-9); }

/// `blocks` blocks that want `rate` bytes per nanosecond each.
Traffic wanting(double rate, double llc_hit_ratio = 0, int blocks = 1) {
  return {.bytes = rate * 100, .llc_hit_ratio = llc_hit_ratio, .block_time = 100, .blocks = blocks};
}

Bandwidth bytes_per_nanosecond(double rate) { return {rate * 1e9}; }

TEST(BandwidthShares, ZeroIsNoLimit) {
  EXPECT_THAT(bandwidth_shares(std::vector{wanting(1e6), wanting(3)}, {}), ElementsAre(1, 1));
}

TEST(BandwidthShares, NoLaunchIsThrottledIfAllFit) {
  EXPECT_THAT(bandwidth_shares(std::vector{wanting(5), wanting(3)}, {.llc = bytes_per_nanosecond(8)}),
              ElementsAre(1, 1));
}

TEST(BandwidthShares, TheModestGetAllAndTheGreedyShareTheRest) {
  // Capacity 8: the one that wants 2 gets 2, the two that want 10 get 3 each.
  EXPECT_THAT(bandwidth_shares(std::vector{wanting(10), wanting(2), wanting(10)}, {.llc = bytes_per_nanosecond(8)}),
              ElementsAre(about(0.3), 1, about(0.3)));
}

TEST(BandwidthShares, EveryBlockCounts) {
  // Three blocks and one: four equal parts of 8.
  EXPECT_THAT(bandwidth_shares(std::vector{wanting(4, 0, 3), wanting(8)}, {.noc = bytes_per_nanosecond(8)}),
              ElementsAre(about(0.5), about(0.25)));
}

TEST(BandwidthShares, DramSeesTheMissesOnly) {
  EXPECT_THAT(bandwidth_shares(std::vector{wanting(8, 0.75)}, {.dram = bytes_per_nanosecond(1)}),
              ElementsAre(about(0.5)));
  EXPECT_THAT(bandwidth_shares(std::vector{wanting(8, 1)}, {.dram = bytes_per_nanosecond(1)}), ElementsAre(1));
}

TEST(BandwidthShares, TheNarrowerOfNocAndCacheLimits) {
  EXPECT_THAT(
      bandwidth_shares(std::vector{wanting(8)}, {.noc = bytes_per_nanosecond(2), .llc = bytes_per_nanosecond(4)}),
      ElementsAre(about(0.25)));
  EXPECT_THAT(
      bandwidth_shares(std::vector{wanting(8)}, {.noc = bytes_per_nanosecond(4), .llc = bytes_per_nanosecond(2)}),
      ElementsAre(about(0.25)));
}

TEST(BandwidthShares, ALaunchLimitedByDramLeavesTheCacheToOthers) {
  // Both want 10. All misses: 4 of DRAM. All hits: the 12 - 4 that the cache has left.
  EXPECT_THAT(bandwidth_shares(std::vector{wanting(10, 1), wanting(10, 0)},
                               {.llc = bytes_per_nanosecond(12), .dram = bytes_per_nanosecond(4)}),
              ElementsAre(about(0.8), about(0.4)));
}

TEST(BandwidthShares, ALaunchWithoutTrafficIsNotSlowed) {
  EXPECT_THAT(bandwidth_shares(std::vector{wanting(0), wanting(9)}, {.llc = bytes_per_nanosecond(3)}),
              ElementsAre(1, about(1.0 / 3)));
}

TEST(BandwidthShares, NoLaunchesHaveNoShares) {
  EXPECT_TRUE(bandwidth_shares({}, {.llc = bytes_per_nanosecond(1)}).empty());
}

/// Random traffic behind random limits, and what it was given.
struct Shared {
  explicit Shared(std::uint64_t seed) {
    Dice dice(seed);
    llc = dice.between(1, 200);
    dram = dice.between(1, 100);
    for (int left = dice.between(1, 8); left > 0; --left) {
      const double hits = dice.once_in(4) ? dice.between(0, 1) : dice.ratio();
      traffics.push_back(wanting(dice.once_in(6) ? 0 : dice.between(1, 400) / 10.0, hits, dice.between(1, 20)));
    }
    shares = bandwidth_shares(traffics, {.llc = bytes_per_nanosecond(llc), .dram = bytes_per_nanosecond(dram)});
  }

  double rate(std::size_t i) const { return shares[i] * traffics[i].bytes / traffics[i].block_time; }
  double misses(std::size_t i) const { return 1 - traffics[i].llc_hit_ratio; }
  double llc_used() const {
    return used([](const Traffic&) { return 1.0; });
  }
  double dram_used() const {
    return used([](const Traffic& traffic) { return 1 - traffic.llc_hit_ratio; });
  }

  template <typename Weight>
  double used(Weight weight) const {
    double sum = 0;
    for (std::size_t i = 0; i < traffics.size(); ++i) sum += rate(i) * traffics[i].blocks * weight(traffics[i]);
    return sum;
  }

  /// Is i among the fastest users of a pipe that is full? Then nobody could give it more without slowing a slower one.
  bool held_back_fairly(std::size_t i) const {
    const bool llc_full = llc_used() > llc * (1 - 1e-6);
    const bool dram_full = dram_used() > dram * (1 - 1e-6) && misses(i) > 0;
    bool fastest = true;
    bool fastest_of_misses = true;
    for (std::size_t j = 0; j < traffics.size(); ++j) {
      const bool faster = rate(j) > rate(i) * (1 + 1e-6);
      fastest = fastest && !faster;
      fastest_of_misses = fastest_of_misses && !(faster && misses(j) > 0);
    }
    return (llc_full && fastest) || (dram_full && fastest_of_misses);
  }

  double llc;
  double dram;
  std::vector<Traffic> traffics;
  std::vector<double> shares;
};

TEST(BandwidthShares, NoPipeCarriesMoreThanItsCapacity) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Shared shared(seed);
    ASSERT_LE(shared.llc_used(), shared.llc * (1 + 1e-9)) << seed;
    ASSERT_LE(shared.dram_used(), shared.dram * (1 + 1e-9)) << seed;
  }
}

TEST(BandwidthShares, AreMaxMinFair) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Shared shared(seed);
    for (std::size_t i = 0; i < shared.shares.size(); ++i) {
      ASSERT_GT(shared.shares[i], 0) << seed;
      ASSERT_LE(shared.shares[i], 1) << seed;
      ASSERT_TRUE(shared.shares[i] == 1 || shared.held_back_fairly(i)) << "seed " << seed << ", traffic " << i;
    }
  }
}

}  // namespace
}  // namespace gpushare
