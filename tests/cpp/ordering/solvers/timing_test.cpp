// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/solvers/timing.hpp"

#include <gtest/gtest.h>

#include "ordering/sample_tasks.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(Schedule, OverlapsTheEnginesOfDifferentTasks) {
  const std::vector<Task> tasks{task_of(10, 20, 5), task_of(4, 3, 8)};
  const Schedule schedule = schedule_of(tasks, std::vector{0, 1});
  EXPECT_EQ(schedule.ends, (std::vector{Duration(35), Duration(43)}));  // 10+20+5; its SMs 30..33, downlink 35..43
  EXPECT_EQ(schedule.makespan, Duration(43));
  EXPECT_EQ(schedule_of(tasks, std::vector{1, 0}).makespan, Duration(39));  // 4, then 10 of the other, 20, 5
}

TEST(Schedule, WhatThePreviousWindowLeftDelaysIt) {
  const EnginesState engines{.uplink = Duration(5), .compute = Duration(40), .downlink = Duration(70)};
  const std::vector<Task> tasks{task_of(10, 20, 5)};
  const Schedule schedule = schedule_of(tasks, std::vector{0}, engines);
  EXPECT_EQ(schedule.makespan, Duration(75));
  EXPECT_EQ(schedule.engines.uplink, Duration(15));
  EXPECT_EQ(schedule.engines.compute, Duration(60));
}

TEST(Schedule, NothingToDoLastsAsLongAsThePreviousWindow) {
  EXPECT_EQ(schedule_of({}, {}).makespan, Duration(0));
  EXPECT_EQ(schedule_of({}, {}, {.downlink = Duration(9)}).makespan, Duration(9));
}

TEST(Schedule, ATaskDoesNotWaitForAnEngineThatItDoesNotUse) {
  const std::vector<Task> tasks{task_of(1, 100, 0), task_of(2, 0, 3), task_of(0, 0, 4)};
  EXPECT_EQ(schedule_of(tasks, std::vector{0, 1, 2}).ends,
            (std::vector{Duration(101), Duration(6), Duration(10)}));  // copies out 3..6, then 6..10
}

TEST(Schedule, ATaskWaitsUntilItsMemoryFits) {
  const std::vector<Task> tasks{task_of(1, 9, 1, 6), task_of(1, 1, 1, 5)};
  const Schedule schedule = schedule_of(tasks, std::vector{0, 1}, {}, Bytes{10});
  EXPECT_TRUE(schedule.waited_for_memory);
  EXPECT_EQ(schedule.ends, (std::vector{Duration(11), Duration(14)}));
  EXPECT_FALSE(schedule_of(tasks, std::vector{0, 1}, {}, Bytes{11}).waited_for_memory);
}

TEST(Schedule, MemoryOfThePreviousWindowCounts) {
  const EnginesState engines{.held = {{.until = Duration(30), .size = Bytes{8}}}};
  const std::vector<Task> tasks{task_of(2, 1, 1, 3)};
  EXPECT_EQ(schedule_of(tasks, std::vector{0}, engines, Bytes{10}).ends.front(), Duration(34));
}

/// The memory in use at any time is what the tasks between their first start and their end hold.
TEST(Schedule, NeverHoldsMoreMemoryThanThereIs) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    const std::vector<Task> tasks = random_tasks(dice, 6);
    const std::vector<int> order{0, 1, 2, 3, 4, 5};
    const Bytes limit{dice.between(9, 20)};
    Timeline timeline({}, limit);
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (const Task& task : tasks) {
      const std::int64_t end = timeline.append(task).count();
      // At the latest it starts when its operations, without any wait, lead to its end.
      spans.emplace_back(end - (task.uplink + task.compute + task.downlink).count(), end);
    }
    for (std::size_t at = 0; at < tasks.size(); ++at) {
      std::int64_t held = 0;
      for (std::size_t i = 0; i <= at; ++i) held += spans[i].second > spans[at].first ? tasks[i].memory.count : 0;
      EXPECT_LE(held, limit.count) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace gpushare
