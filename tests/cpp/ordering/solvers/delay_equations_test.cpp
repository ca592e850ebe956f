// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/solvers/delay_equations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "core/model/errors.hpp"
#include "core/ordering/solvers/timing.hpp"
#include "messages.hpp"
#include "ordering/sample_tasks.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr int orders = 2000;
constexpr std::array in_turn{0, 1, 2, 3, 4, 5, 6, 7};

/// Eqs. 1 to 3 with the idle time of the SMs in Eq. 2, written out.
Duration by_corrected_equations(const std::vector<Task>& tasks) {
  const auto clipped = [](Duration value) { return std::max(value, Duration::zero()); };
  Duration sent = tasks.front().uplink;
  Duration compute_wait{};
  Duration downlink_wait{};
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    const Duration lead = compute_wait + tasks[i - 1].compute - tasks[i].uplink;
    downlink_wait = clipped(downlink_wait + tasks[i - 1].downlink - tasks[i].compute - clipped(-lead));
    compute_wait = clipped(lead);
    sent += tasks[i].uplink;
  }
  return sent + compute_wait + tasks.back().compute + downlink_wait + tasks.back().downlink;
}

/// In how many random orders of eight tasks on all engines this is not what stepping through the order gives.
template <class TotalTime>
int wrong_orders(const TotalTime& total) {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < orders; ++seed) {
    Dice dice(seed);
    std::vector<Task> tasks;
    for (int i = 0; i < 8; ++i) tasks.push_back(task_of(dice.between(1, 99), dice.between(1, 99), dice.between(1, 99)));
    wrong += total(tasks) != schedule_of(tasks, in_turn).makespan ? 1 : 0;
  }
  return wrong;
}

TEST(DelayEquations, CorrectedTheyAreTheDirectSimulation) { EXPECT_EQ(wrong_orders(by_corrected_equations), 0); }

TEST(DelayEquations, AsPrintedTheyMissALargePart) {
  const int wrong = wrong_orders(
      [](const std::vector<Task>& tasks) { return total_time(tasks, in_turn, DelayEquations::AsPrinted); });
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

TEST(DelayEquations, ATaskWaitsForNoEngineThatItLeavesOut) {
  // The kernels of the second begin at once, and the third, which does nothing, has ended at once.
  const std::vector<Task> tasks{task_of(10, 0, 20), task_of(0, 30, 0), task_of(0, 0, 0)};
  EXPECT_EQ(total_time(tasks, std::array{0, 1, 2}, DelayEquations::AsCorrected), Duration(30));
}

TEST(DelayEquations, RefuseAnOrderThatCannotBe) {
  const std::vector<Task> tasks{task_of(1, 2, 5), task_of(10, 1, 1)};
  const auto message = [&](const std::vector<int>& order) {
    return message_of<InvalidInput>([&] { total_time(tasks, order, DelayEquations::AsCorrected); });
  };
  EXPECT_THAT(message({0, 2}), naming(2));
  EXPECT_THAT(message({-1}), naming(-1));
  EXPECT_THAT(message({1, 1}), naming(1));
}

TEST(DelayEquations, OfNoTasksIsNothing) { EXPECT_EQ(total_time({}, {}, DelayEquations::AsCorrected), Duration(0)); }

}  // namespace
}  // namespace gpushare
