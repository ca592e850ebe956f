// SPDX-License-Identifier: Apache-2.0
#include "core/workers/stream_level.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "sample_devices.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr int levels = 6;  // as on an H100

TEST(StreamLevel, ASingleLaunchGetsTheLowestLevel) { EXPECT_EQ(level_for(0, {}, levels), levels - 1); }

TEST(StreamLevel, ALaunchOfLowerRankGetsNoHigherLevel) {
  const std::vector<LevelInUse> in_use{{.rank = 0, .level = 5}};
  EXPECT_EQ(level_for(1, in_use, levels), 5);
}

TEST(StreamLevel, ALaunchOfHigherRankGetsAHigherLevel) {
  const std::vector<LevelInUse> in_use{{.rank = 1, .level = 5}, {.rank = 2, .level = 4}};
  EXPECT_EQ(level_for(0, in_use, levels), 3);
}

TEST(StreamLevel, BetweenTheTwoItStandsBesideTheFirst) {
  const std::vector<LevelInUse> in_use{{.rank = 0, .level = 4}, {.rank = 2, .level = 5}};
  EXPECT_EQ(level_for(1, in_use, levels), 4);
}

TEST(StreamLevel, WhereWorkersOfALowerRankAreMoreUrgentThanThoseOfAHigherItOvertakesNeither) {
  const std::vector<LevelInUse> in_use{{.rank = 0, .level = 4}, {.rank = 2, .level = 2}};
  EXPECT_EQ(level_for(1, in_use, levels), 4);
}

TEST(StreamLevel, WhereLevelsRunOutItStandsBesideTheMostUrgent) {
  const std::vector<LevelInUse> in_use{{.rank = 3, .level = 0}};
  EXPECT_EQ(level_for(1, in_use, levels), 0);
  EXPECT_EQ(level_for(1, in_use, 1), 0);
}

/// Its own workers from before are of its rank, and must not keep the new ones back.
TEST(StreamLevel, EqualRanksDoNotBind) {
  EXPECT_EQ(level_for(1, std::vector<LevelInUse>{{.rank = 1, .level = 5}}, levels), 5);
  const std::vector<LevelInUse> in_use{{.rank = 1, .level = 5}, {.rank = 2, .level = 5}};
  EXPECT_EQ(level_for(1, in_use, levels), 4);
}

TEST(StreamLevel, AsManyLaunchesAsThereAreLevelsCanOvertakeOneAnother) {
  std::vector<LevelInUse> in_use;
  for (int rank = levels - 1; rank >= 0; --rank) in_use.push_back({rank, level_for(rank, in_use, levels)});
  for (int i = 1; i < levels; ++i) {
    EXPECT_LT(in_use[static_cast<std::size_t>(i)].level, in_use[static_cast<std::size_t>(i - 1)].level);
  }
}

TEST(StreamLevel, NeverOvertakesAHigherRankAndALowerOneWhereItCan) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    Dice dice(seed);
    const int count = dice.between(1, levels);
    std::vector<LevelInUse> in_use(static_cast<std::size_t>(dice.between(0, 8)));
    for (LevelInUse& other : in_use) other = {dice.between(0, 9), dice.between(0, count - 1)};
    const int rank = dice.between(0, 9);
    const int level = level_for(rank, in_use, count);
    ASSERT_GE(level, 0);
    ASSERT_LT(level, count);
    int before = 0;  // the least urgent level of those before it
    for (const LevelInUse& other : in_use) before = other.rank < rank ? std::max(before, other.level) : before;
    ASSERT_GE(level, before) << "seed " << seed;
    for (const LevelInUse& other : in_use) {
      if (other.rank > rank && other.level > before) {
        ASSERT_LT(level, other.level) << "seed " << seed;
      }
    }
  }
}

/// Launches come, relaunch and go; each takes a level when it has workers launched. Nobody climbs without need.
TEST(StreamLevel, RelaunchingInAnyOrderSettles) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Dice dice(seed);
    std::vector<LevelInUse> in_use;
    for (int rank = 0; rank < 4; ++rank) in_use.push_back({rank, levels - 1});
    for (int turn = 0; turn < 200; ++turn) {
      LevelInUse& chosen = in_use[static_cast<std::size_t>(dice.between(0, 3))];
      chosen.level = level_for(chosen.rank, in_use, levels);
    }
    ASSERT_TRUE(std::ranges::is_sorted(in_use, {}, &LevelInUse::level)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace gpushare
