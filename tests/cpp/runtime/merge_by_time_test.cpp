// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/merge_by_time.hpp"

#include <gmock/gmock.h>

#include <initializer_list>
#include <utility>

namespace gpushare {
namespace {

using testing::ElementsAre;

/// Each with its time, and told apart by its block.
std::vector<Event> told(std::initializer_list<std::pair<int, int>> times_and_blocks) {
  std::vector<Event> events;
  for (const auto& [time, block] : times_and_blocks) events.push_back({.time = Time(Duration(time)), .block = block});
  return events;
}

std::vector<std::int64_t> blocks_of(const std::vector<Event>& events) {
  std::vector<std::int64_t> blocks;
  for (const Event& event : events) blocks.push_back(event.block);
  return blocks;
}

TEST(MergeByTime, WhatIsOlderComesFirst) {
  std::vector<Event> events = told({{10, 0}, {30, 1}, {20, 2}, {40, 3}});
  merge_by_time(events, 0, 2);
  EXPECT_THAT(blocks_of(events), ElementsAre(0, 2, 1, 3));
}

TEST(MergeByTime, WhatJoinsMayBeOutOfOrder) {
  std::vector<Event> events = told({{10, 0}, {30, 1}, {40, 2}, {20, 3}});
  merge_by_time(events, 0, 2);
  EXPECT_THAT(blocks_of(events), ElementsAre(0, 3, 1, 2));
}

TEST(MergeByTime, OfEqualTimesTheEarlierEntryComesFirst) {
  std::vector<Event> events = told({{10, 0}, {20, 1}, {10, 2}, {20, 3}});
  merge_by_time(events, 0, 2);
  EXPECT_THAT(blocks_of(events), ElementsAre(0, 2, 1, 3));
}

TEST(MergeByTime, WhatLiesBeforeStaysWhereItIs) {
  std::vector<Event> events = told({{50, 0}, {30, 1}, {20, 2}});
  merge_by_time(events, 1, 2);
  EXPECT_THAT(blocks_of(events), ElementsAre(0, 2, 1));
}

TEST(MergeByTime, NothingJoinsNothing) {
  std::vector<Event> events;
  merge_by_time(events, 0, 0);
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace gpushare
