// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/window_ordering.hpp"

#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "core/ordering/ordering_registry.hpp"
#include "core/ordering/solvers/delay_equations.hpp"
#include "messages.hpp"
#include "ordered_run.hpp"
#include "sample_tasks.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

/// On small_device() a byte takes a nanosecond, and four blocks at a time their latency.
Application application_of_task(const std::string& name, const Task& task) {
  Application application{.name = name};
  if (task.uplink.count() > 0) application.operations.emplace_back(copy_to_device(task.uplink.count()));
  if (task.compute.count() > 0) application.operations.emplace_back(launch_of(4, task.compute.count(), name));
  if (task.downlink.count() > 0) application.operations.emplace_back(copy_to_host(task.downlink.count()));
  return application;
}

Workload workload_of_tasks(const std::vector<Task>& tasks) {
  Workload workload{.name = "tasks"};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Application application = application_of_task(std::to_string(i), tasks[i]);
    if (!application.operations.empty()) workload.applications.push_back(std::move(application));
  }
  return workload;
}

std::vector<Task> tasks_on_all_engines(std::uint64_t seed, int count) {
  Dice dice(seed);
  std::vector<Task> tasks;
  for (int i = 0; i < count; ++i) {
    tasks.push_back(task_of(dice.between(1, 500), dice.between(1, 500), dice.between(1, 500)));
  }
  return tasks;
}

TEST(WindowOrdering, TheSimulatedGpuTakesWhatTheSolverSays) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<Task> tasks = tasks_on_all_engines(seed, 7);
    const Workload workload = workload_of_tasks(tasks);
    const OrderingProblem problem{.tasks = tasks};
    for (const std::string ordering : {"cumas", "strings", "cumas-dp"}) {
      EXPECT_EQ(static_cast<double>(length_of(ordered_run(small_device(), workload, ordering + "+fifo"))),
                make_solver(ordering)->order(problem, {}).cost_ns)
          << ordering << ", seed " << seed;
    }
  }
}

/// Half of the engines are left out, so that there are tasks of kernels alone, of copies alone, and of nothing; a run
/// has no application for these.
std::vector<Task> tasks_on_some_engines(std::uint64_t seed, int count) {
  Dice dice(seed);
  const auto time = [&] { return dice.once_in(2) ? 0 : dice.between(1, 500); };
  std::vector<Task> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back(task_of(time(), time(), time()));
  return tasks;
}

// An engine serves the tasks in their order, and one that leaves it out does not wait for it (timing.hpp).
TEST(WindowOrdering, SolversEquationsAndRunsMeanTheSameByATaskThatLeavesEnginesOut) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::vector<Task> tasks = tasks_on_some_engines(seed, 7);
    const Workload workload = workload_of_tasks(tasks);
    for (const std::string ordering : {"cumas", "strings", "cumas-dp"}) {
      const OrderedTasks solved = make_solver(ordering)->order({.tasks = tasks}, {});
      const auto total = static_cast<double>(total_time(tasks, solved.order, DelayEquations::AsCorrected).count());
      EXPECT_EQ(solved.cost_ns, total) << ordering << ", seed " << seed;
      EXPECT_EQ(static_cast<double>(length_of(ordered_run(small_device(), workload, ordering + "+fifo"))), total)
          << ordering << ", seed " << seed;
    }
  }
}

TEST(WindowOrdering, ATaskWhoseKernelsBeganEarlierLetsResultsBeforeItGoFirst) {
  // The third has kernels from the beginning, and its results wait for those of the second, which copies from 6 to 9.
  const std::vector<Task> tasks{task_of(6, 0, 3), task_of(3, 0, 1), task_of(0, 8, 8), task_of(7, 0, 6)};
  const Trace trace = ordered_run(small_device(), workload_of_tasks(tasks), "strings+fifo");
  EXPECT_EQ(length_of(trace), 24);
  EXPECT_EQ(block_starts(trace, 4), std::vector<std::int64_t>(4, 0));
}

TEST(WindowOrdering, IsFasterThanArrivalOnTheWhole) {
  double strings = 0;
  double streams = 0;
  double ordered = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Workload workload = workload_of_tasks(tasks_on_all_engines(seed, 12));
    streams += static_cast<double>(length_of(ordered_run(small_device(), workload, "fifo")));
    strings += static_cast<double>(length_of(ordered_run(small_device(), workload, "strings+fifo")));
    ordered += static_cast<double>(length_of(ordered_run(small_device(), workload, "cumas:window=6+fifo")));
  }
  EXPECT_LT(ordered, 0.95 * strings);
  EXPECT_LT(ordered, 0.95 * streams);
}

TEST(WindowOrdering, EnginesServeOneTaskAtATime) {
  // Two copies to the device each: those of one task are not parted by the other's.
  Workload workload{.name = "two"};
  for (const char* name : {"a", "b"}) {
    workload.applications.push_back(
        application_of(name, {copy_to_device(10), copy_to_device(10), launch_of(4, 5), launch_of(4, 5)}));
  }
  const Trace trace = ordered_run(small_device(), workload, "strings+fifo");
  EXPECT_EQ(end_of(trace, 1), 20);
  EXPECT_EQ(end_of(trace, 5), 40);
  EXPECT_EQ(end_of(trace, 3), 30);
  EXPECT_EQ(end_of(ordered_run(small_device(), workload, "fifo"), 1), 30) << "streams alternate";
}

TEST(WindowOrdering, LaterArrivalsAreOrderedWhenTheUplinkHasNothingToDo) {
  // While the first one copies, a long and a short task come; the short copy goes first.
  Workload workload = workload_of_tasks({task_of(100, 10, 1), task_of(80, 1, 1), task_of(10, 50, 1)});
  workload.applications[1].arrival = workload.applications[2].arrival = Duration(50);
  const Trace trace = ordered_run(small_device(), workload, "cumas+fifo");
  EXPECT_EQ(end_of(trace, 0), 100);
  EXPECT_EQ(end_of(trace, 6), 110);
  EXPECT_EQ(end_of(trace, 3), 190);
}

TEST(WindowOrdering, EveryObjectiveHasItsOrder) {
  // The second is longer, and so much heavier that it goes first if weights count.
  Workload workload = workload_of_tasks({task_of(10, 10, 10), task_of(20, 20, 20)});
  workload.applications[1].weight = 5;
  const auto first_copied = [&](const std::string& objective) {
    return end_of(ordered_run(small_device(), workload, "cumas:objective=" + objective + "+fifo"), 0);
  };
  EXPECT_EQ(first_copied("turnaround"), 10);
  EXPECT_EQ(first_copied("weighted"), 30);
}

TEST(WindowOrdering, MemoryHoldsTasksBack) {
  const Workload workload = workload_of_tasks({task_of(600, 100, 1), task_of(500, 1, 1)});
  const Trace trace = ordered_run(small_device(), workload, "strings:memory_gb=0.000001+fifo");
  EXPECT_EQ(end_of(trace, 2), 701);
  EXPECT_EQ(end_of(trace, 3), 1201) << "its copy begins when the first task has ended";
  EXPECT_THROW(ordered_run(small_device(), workload, "strings:memory_gb=0.0000005+fifo"), InvalidInput);
}

TEST(WindowOrdering, LearnsWhatItHasNoProfileOf) {
  // 'short' runs twice; the second time it is known, and goes before the long one although that came first.
  Workload workload{.name = "learning"};
  workload.applications = {
      application_of("first", {copy_to_device(5), launch_of(4, 20, "short"), copy_to_host(1)}),
      application_of("long", {copy_to_device(50), launch_of(4, 400, "long")}, 200),
      application_of("hold", {copy_to_device(30), launch_of(4, 400, "long")}, 800),
      application_of("long again", {copy_to_device(50), launch_of(4, 400, "long")}, 801),
      application_of("short again", {copy_to_device(5), launch_of(8, 20, "short"), copy_to_host(1)}, 802),
  };
  const Trace trace = ordered_run(small_device(), workload, "cumas:estimates=learnt+fifo");
  EXPECT_LT(end_of(trace, 9), end_of(trace, 7)) << "the short one's copy goes first";
}

TEST(WindowOrdering, ATaskWithoutKernelsOrCopiesIsATask) {
  const Workload workload = workload_of_tasks({task_of(10, 0, 20), task_of(0, 30, 0), task_of(0, 0, 7)});
  EXPECT_EQ(length_of(ordered_run(small_device(), workload, "cumas+fifo")), 30);
}

TEST(OrderedPolicy, IsAnOrderingAndAPolicy) {
  EXPECT_EQ(ordered_policy("cumas:window=4+srtf").ordering, "cumas:window=4");
  EXPECT_EQ(ordered_policy("cumas:window=4+srtf").policy, "srtf");
  EXPECT_EQ(ordered_policy("srtf").ordering, "arrival");
  EXPECT_EQ(ordered_policy("srtf").policy, "srtf");
}

TEST(MakeOrdering, AnUnknownNameOptionOrValueIsNamed) {
  const auto message = [](const std::string& text) {
    return message_of<InvalidInput>([&] { require_ordering(text); });
  };
  EXPECT_THAT(message("fast"), naming("fast", "arrival", "strings", "cumas"));
  EXPECT_THAT(message("cumas:window=0"), naming("window", "1..32", 0));
  EXPECT_THAT(message("cumas:size=4"), naming("size"));
  EXPECT_THAT(message("arrival:window=4"), naming("window"));
  EXPECT_EQ(message("cumas:window=4:objective=turnaround:kernels=2:assume_idle_engines=yes"), "");
}

}  // namespace
}  // namespace gpushare
