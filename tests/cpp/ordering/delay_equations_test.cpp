// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/delay_equations.hpp"

#include <gtest/gtest.h>

#include "core/ordering/timing.hpp"
#include "sample_tasks.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr int orders = 2000;

/// In how many random orders of eight tasks Eq. 3 is not what stepping through the order gives.
int wrong_orders(DelayEquations equations) {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < orders; ++seed) {
    Dice dice(seed);
    std::vector<Task> tasks;
    for (int i = 0; i < 8; ++i) tasks.push_back(task_of(dice.between(1, 99), dice.between(1, 99), dice.between(1, 99)));
    const std::vector<int> order{0, 1, 2, 3, 4, 5, 6, 7};
    wrong += total_time(tasks, order, equations) != schedule_of(tasks, order).makespan ? 1 : 0;
  }
  return wrong;
}

TEST(DelayEquations, CorrectedTheyAreTheDirectSimulation) { EXPECT_EQ(wrong_orders(DelayEquations::AsCorrected), 0); }

TEST(DelayEquations, AsPrintedTheyMissALargePart) {
  const int wrong = wrong_orders(DelayEquations::AsPrinted);
  RecordProperty("wrong_percent", wrong * 100 / orders);
  EXPECT_GT(wrong, orders / 4);
  EXPECT_LT(wrong, orders * 3 / 4);
}

TEST(DelayEquations, TheSmallestCaseInWhichEq2IsWrong) {
  // The SMs wait 8 for the second task's data, in which the downlink does its first 5: no wait is left. As printed, the
  // idle time is not subtracted.
  const std::vector<Task> tasks{task_of(1, 2, 5), task_of(10, 1, 1)};
  const std::vector<int> order{0, 1};
  EXPECT_EQ(schedule_of(tasks, order).makespan, Duration(13));
  EXPECT_EQ(total_time(tasks, order, DelayEquations::AsCorrected), Duration(13));
  EXPECT_EQ(total_time(tasks, order, DelayEquations::AsPrinted), Duration(17));
}

TEST(DelayEquations, OfNoTasksIsNothing) { EXPECT_EQ(total_time({}, {}, DelayEquations::AsCorrected), Duration(0)); }

}  // namespace
}  // namespace gpushare
