// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/contention.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gpushare {
namespace {

BlockCost issue_cost(int latency, int issue) { return {.latency = Duration(latency), .issue = Duration(issue)}; }

/// Block time of `blocks` equal blocks.
double time_of(const BlockCost& cost, int blocks) {
  const Residents residents{&cost, blocks};
  return block_times({&residents, 1}).front();
}

/// Block time of the first kind beside the second.
double time_beside(const BlockCost& first, int blocks, const BlockCost& second, int others) {
  const std::vector<Residents> mix{{&first, blocks}, {&second, others}};
  return block_times(mix).front();
}

TEST(BlockTimes, ABlockAloneTakesItsLatency) {
  EXPECT_DOUBLE_EQ(time_of(issue_cost(1000, 0), 1), 1000);
  EXPECT_NEAR(time_of(issue_cost(1000, 300), 1), 1000, 1e-6);
  EXPECT_NEAR(time_of(issue_cost(1000, 1000), 1), 1000, 1e-6);
}

TEST(BlockTimes, EqualBlocksSolveTheEquationOfTheHeader) {
  const double stall = 700;
  const double issue = 300;
  for (const int blocks : {2, 3, 8, 32}) {
    const double time = time_of(issue_cost(1000, 300), blocks);
    const double issuing = (time - stall) / time;
    EXPECT_NEAR(time, stall + issue * (1 + (blocks - 1) * issuing), 1e-6) << blocks;
  }
}

TEST(BlockTimes, AMixSolvesTheEquationOfTheHeader) {
  const BlockCost first = issue_cost(1000, 300);
  const BlockCost second = issue_cost(500, 450);
  const std::vector<Residents> mix{{&first, 3}, {&second, 2}};
  const std::vector<double> times = block_times(mix);
  const double q1 = (times[0] - 700) / times[0];
  const double q2 = (times[1] - 50) / times[1];
  EXPECT_NEAR(times[0], 700 + 300 * (1 + 2 * q1 + 2 * q2), 1e-6);
  EXPECT_NEAR(times[1], 50 + 450 * (1 + 3 * q1 + 1 * q2), 1e-6);
}

TEST(BlockTimes, BlocksThatOnlyIssueAddUpTheirTimes) { EXPECT_NEAR(time_of(issue_cost(100, 100), 7), 700, 1e-6); }

TEST(BlockTimes, MoreThanAllOfABlockIsAllOfIt) { EXPECT_NEAR(time_of(issue_cost(100, 130), 1), 130, 1e-6); }

TEST(BlockTimes, BlocksThatOnlyStallIgnoreEachOther) { EXPECT_DOUBLE_EQ(time_of(issue_cost(100, 0), 32), 100); }

TEST(BlockTimes, EqualKindsGetEqualTimesHoweverTheyAreListed) {
  const BlockCost same = issue_cost(1000, 300);
  EXPECT_NEAR(time_beside(same, 2, same, 3), time_of(same, 5), 1e-6);
}

TEST(BlockTimes, NoResidentBlocksTakeNoTime) { EXPECT_TRUE(block_times({}).empty()); }

// SRTF, Fig. 7.
TEST(BlockTimes, GrowWithResidency) {
  for (int blocks = 1; blocks < 32; ++blocks)
    EXPECT_GT(time_of(issue_cost(1000, 80), blocks + 1), time_of(issue_cost(1000, 80), blocks));
}

// SRTF, Fig. 8: more blocks take longer each but less together, until the issue slots are busy all the time.
TEST(BlockTimes, TimePerBlockFallsAndSaturatesAtTheIssueTime) {
  const BlockCost kernel = issue_cost(1000, 80);
  for (int blocks = 1; blocks < 64; ++blocks) {
    EXPECT_LT(time_of(kernel, blocks + 1) / (blocks + 1), time_of(kernel, blocks) / blocks);
    EXPECT_GT(time_of(kernel, blocks) / blocks, 80);
  }
  EXPECT_LT(time_of(kernel, 64) / 64, 1.05 * 80);
}

// SRTF, Fig. 9: what a co-runner costs depends on what it issues.
TEST(BlockTimes, ACoRunnerSlowsMoreTheMoreItIssues) {
  const BlockCost kernel = issue_cost(1000, 200);
  double before = time_of(kernel, 4);
  for (const int issue : {50, 200, 600, 1000}) {
    const double beside = time_beside(kernel, 4, issue_cost(1000, issue), 2);
    EXPECT_GT(beside, before) << issue;
    before = beside;
  }
}

// SRTF, Fig. 10.
TEST(BlockTimes, MoreBlocksOfACoRunnerSlowMore) {
  const BlockCost kernel = issue_cost(1000, 200);
  for (int others = 0; others < 8; ++others) {
    EXPECT_LT(time_beside(kernel, 2, kernel, others), time_beside(kernel, 2, kernel, others + 1));
  }
}

TEST(BlockTimes, ACoRunnerThatNeverIssuesCostsNothing) {
  EXPECT_NEAR(time_beside(issue_cost(1000, 200), 3, issue_cost(1000, 0), 5), time_of(issue_cost(1000, 200), 3), 1e-6);
}

TEST(BlockTimes, TheIssueSlotsAreNeverBusierThanAllTheTime) {
  for (const int issue : {1, 50, 300, 999, 1000}) {
    for (const int blocks : {1, 4, 32}) {
      EXPECT_LE(blocks * issue / time_of(issue_cost(1000, issue), blocks), 1 + 1e-9);
    }
  }
}

}  // namespace
}  // namespace gpushare
