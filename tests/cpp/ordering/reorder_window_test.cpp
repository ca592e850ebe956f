// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/reorder_window.hpp"

#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "core/ordering/ordering_registry.hpp"
#include "sample_tasks.hpp"

namespace gpushare {
namespace {

using namespace test;

ReadyTask ready(int application, const Task& task) { return {static_cast<ApplicationId>(application), task}; }

/// Takes all tasks that are ordered, as their applications' numbers.
std::vector<int> begun(ReorderWindow& window) {
  std::vector<int> applications;
  while (!window.ordered().empty()) {
    applications.push_back(static_cast<int>(window.ordered().front().application));
    window.begin(window.ordered().front().application);
  }
  return applications;
}

TEST(ReorderWindow, OrdersAtMostItsSizeAndKeepsWindowsInOrder) {
  ReorderWindow window(make_solver("cumas"), {.size = 2});
  for (const int each : {0, 1, 2, 3, 4}) window.add(ready(each, task_of(10 - each, 20, 1)));
  std::vector<std::vector<int>> windows;
  while (window.is_due(true)) {
    window.order({});
    windows.push_back(begun(window));
  }
  EXPECT_EQ(windows, (std::vector<std::vector<int>>{{1, 0}, {3, 2}, {4}}));  // the shorter copy first
}

TEST(ReorderWindow, IsDueWhenItIsFullOrTheUplinkIsIdle) {
  ReorderWindow window(make_solver("strings"), {.size = 2});
  EXPECT_FALSE(window.is_due(true));
  window.add(ready(0, task_of(1, 1, 1)));
  EXPECT_TRUE(window.is_due(true));
  EXPECT_FALSE(window.is_due(false));
  window.add(ready(1, task_of(1, 1, 1)));
  EXPECT_TRUE(window.is_due(false));
  window.order({});
  window.begin(window.ordered().front().application);
  window.add(ready(2, task_of(1, 1, 1)));
  window.add(ready(3, task_of(1, 1, 1)));
  EXPECT_FALSE(window.is_due(false)) << "a task of the window has not begun";
}

TEST(ReorderWindow, TakesIntoAccountWhatThePreviousOneHasLeft) {
  // On a free GPU the task with the shorter copy to the device goes first; while the SMs are in use there is no hurry,
  // and the one with the shorter copy to the host goes last.
  const std::vector<Task> tasks{task_of(2, 5, 1), task_of(9, 5, 2)};
  const EnginesState left{.compute = Duration(30), .downlink = Duration(30)};
  for (const bool assumes_idle_engines : {false, true}) {
    ReorderWindow window(make_solver("cumas-bf"), {.assumes_idle_engines = assumes_idle_engines});
    for (int each = 0; each < 2; ++each) window.add(ready(each, tasks[static_cast<std::size_t>(each)]));
    window.order(left);
    EXPECT_EQ(window.latest().cost_ns, assumes_idle_engines ? 18 : 41);
    EXPECT_EQ(begun(window), assumes_idle_engines ? (std::vector{0, 1}) : (std::vector{1, 0}));
  }
}

TEST(ReorderWindow, UnknownTasksGoFirst) {
  ReorderWindow window(make_solver("strings"), {.size = 4});
  window.add(ready(0, task_of(1, 1, 1)));
  window.order({});
  window.add(ready(1, task_of(1, 1, 1)));
  window.add_unknown(ready(2, task_of(1, 0, 1)));
  EXPECT_EQ(begun(window), (std::vector{2, 0}));
  EXPECT_EQ(window.waiting(), 1U);
}

TEST(ReorderWindow, EverySearchHasItsOwnTime) {
  int begun_searches = 0;
  int looks = 0;
  const auto stopwatch = [&] {
    ++begun_searches;
    return [&looks] { return ++looks > 0; };  // over at once
  };
  ReorderWindow window(make_solver("cumas-bf"), {.size = 10, .stopwatch = stopwatch});
  for (int round = 1; round <= 2; ++round) {
    for (int each = 0; each < 10; ++each) window.add(ready(each, task_of(10 - each, 20 + each % 3, each)));
    window.order({});
    EXPECT_EQ(begun_searches, round);
    EXPECT_EQ(begun(window).size(), 10U) << "the best order so far";
    EXPECT_LT(window.latest().nodes, 1000);
  }
  EXPECT_GT(looks, 0);
}

TEST(ReorderWindow, KnowsArrivalsSinceTheSearch) {
  ReorderWindow window(make_solver("strings"), {.size = 2});
  const auto came = [](int application, std::int64_t ns) {
    return ReadyTask{
        .application = static_cast<ApplicationId>(application), .task = task_of(1, 1, 1), .since = Time(Duration(ns))};
  };
  for (int each = 0; each < 3; ++each) window.add(came(each, 5));
  window.order({}, Time(Duration(5)));
  EXPECT_TRUE(window.latecomers().empty()) << "beyond the window, but there when it was ordered";
  window.add(came(3, 6));
  ASSERT_EQ(window.latecomers().size(), 1U);
  EXPECT_EQ(window.latecomers()[0]->application, static_cast<ApplicationId>(3));
  window.begin(static_cast<ApplicationId>(3));
  EXPECT_TRUE(window.latecomers().empty());
  EXPECT_EQ(window.waiting(), 1U);
}

TEST(ReorderWindow, RefusesWhatCannotFit) {
  ReorderWindow window(make_solver("strings"), {.memory_limit = Bytes{10}});
  EXPECT_THROW(window.add(ready(3, task_of(1, 1, 1, 11))), InvalidInput);
  EXPECT_THROW(window.add_unknown(ready(3, task_of(1, 0, 1, 11))), InvalidInput);
  EXPECT_THROW(ReorderWindow(make_solver("strings"), {.size = 0}), InvalidInput);
  EXPECT_THROW(ReorderWindow(make_solver("strings"), {.size = 33}), InvalidInput);
}

}  // namespace
}  // namespace gpushare
