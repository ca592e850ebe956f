// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/block_progress.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

Time at(std::int64_t ns) { return Time(Duration(ns)); }

Event started(std::int64_t ns, int blocks) {
  return {.time = at(ns), .blocks = blocks, .kind = EventKind::BlockStarted};
}
Event ended(std::int64_t from_ns, std::int64_t ns, int blocks) {
  return {.time = at(ns), .started = at(from_ns), .blocks = blocks, .kind = EventKind::BlockEnded};
}

TEST(BlockProgress, BlocksInFlightCountByHowLongTheyHaveBeenAtIt) {
  BlockProgress progress;
  progress.observe(started(0, 8));
  progress.observe(started(500, 4));
  EXPECT_DOUBLE_EQ(progress.done(at(500), 1000, 64), 4);
  EXPECT_DOUBLE_EQ(progress.done(at(750), 1000, 64), 7);
  progress.observe(ended(0, 1000, 8));
  EXPECT_DOUBLE_EQ(progress.done(at(1000), 1000, 64), 10);
  EXPECT_EQ(progress.ended_blocks(), 8);
}

TEST(BlockProgress, NoLaunchHasDoneMoreThanItHasBegun) {
  BlockProgress progress;
  progress.observe(started(0, 8));
  EXPECT_DOUBLE_EQ(progress.done(at(9000), 1000, 64), 8);
}

TEST(BlockProgress, ALaunchWithoutBlockEventsProgressesByWaves) {
  BlockProgress progress;
  progress.observe(started(0, 32));
  EXPECT_DOUBLE_EQ(progress.done(at(2000), 1000, 8), 16);
  EXPECT_DOUBLE_EQ(progress.done(at(9000), 1000, 8), 32);
}

TEST(BlockProgress, AnEndedLaunchLeavesNothingInFlight) {
  BlockProgress progress;
  progress.observe(started(100, 8));
  progress.observe(ended(90, 1000, 8));  // groups are reported with mean durations
  progress.observe({.time = at(1000), .kind = EventKind::LaunchEnded});
  EXPECT_DOUBLE_EQ(progress.done(at(5000), 1000, 64), 8);
  EXPECT_EQ(progress.ended_launches(), 1);
}

TEST(BlockProgress, PausesCountWhileAnApplicationIsWaitedFor) {
  BlockProgress progress(Duration(60));
  EXPECT_DOUBLE_EQ(progress.present(at(500)), 0);
  progress.observe({.time = at(1000), .kind = EventKind::LaunchArrived});
  EXPECT_DOUBLE_EQ(progress.present(at(1100)), 100);
  progress.observe({.time = at(2000), .kind = EventKind::LaunchEnded});
  EXPECT_DOUBLE_EQ(progress.present(at(2020)), 1020);
  EXPECT_DOUBLE_EQ(progress.present(at(9000)), 1060);
  progress.observe({.time = at(9000), .kind = EventKind::LaunchArrived});
  progress.observe({.time = at(9100), .kind = EventKind::LaunchArrived});
  progress.observe({.time = at(9500), .kind = EventKind::LaunchEnded});
  EXPECT_DOUBLE_EQ(progress.present(at(10'000)), 2060);
}

TEST(BlockProgress, BlockTimesAreThoseSinceThen) {
  BlockProgress progress;
  progress.observe(ended(0, 9000, 4));
  const BlockProgress before = progress;
  progress.observe(ended(9000, 10'000, 1));
  progress.observe(ended(9000, 12'000, 1));
  EXPECT_DOUBLE_EQ(progress.block_time_since(before), 2000);
}

}  // namespace
}  // namespace gpushare
