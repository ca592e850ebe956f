// SPDX-License-Identifier: Apache-2.0
// What the solver of every ordering of windows must do, and that the exact ones are.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/model/errors.hpp"
#include "messages.hpp"
#include "ordering_names.hpp"
#include "sample_tasks.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr std::array objectives{Objective::Makespan, Objective::MeanTurnaround, Objective::WeightedTurnaround};

/// Tasks with what they find; a third of the problems have too little memory for all tasks at a time.
struct SolverSample {
  SolverSample(std::uint64_t seed, int most_tasks) {
    Dice dice(seed);
    tasks = random_tasks(dice, dice.between(1, most_tasks));
    problem = {.tasks = tasks, .engines = random_engines(dice), .objective = objectives[seed % 3]};
    if (dice.once_in(3)) problem.memory_limit = Bytes{dice.between(9, 30)};
  }
  std::vector<Task> tasks;
  OrderingProblem problem;
};

std::vector<OrderingEntry> with_windows() {
  std::vector<OrderingEntry> found;
  std::ranges::copy_if(orderings(), std::back_inserter(found), &OrderingEntry::has_windows);
  return found;
}

class EverySolver : public testing::TestWithParam<OrderingEntry> {
 protected:
  OrderedTasks solve(const OrderingProblem& problem, const SearchLimits& limits = {}) const {
    return GetParam().make_solver()->order(problem, limits);
  }
};

TEST_P(EverySolver, OrdersEveryTaskOnceAndSaysWhatThatCosts) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const SolverSample sample(seed, 7);
    const OrderedTasks answer = solve(sample.problem);
    std::vector<int> sorted = answer.order;
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted, order_of_arrival(sample.problem));
    EXPECT_DOUBLE_EQ(answer.cost_ns, cost_of(sample.problem, answer.order));
    EXPECT_LE(answer.lower_bound_ns, answer.cost_ns * (1 + 1e-12));
    EXPECT_GE(answer.lower_bound_ns, 0);
  }
}

TEST_P(EverySolver, GivesTheSameAnswerAgain) {
  for (std::uint64_t seed = 500; seed < 520; ++seed) {
    const SolverSample sample(seed, 7);
    EXPECT_EQ(solve(sample.problem).order, solve(sample.problem).order);
  }
}

TEST_P(EverySolver, TakesNoTasksAndTasksOfNothing) {
  EXPECT_TRUE(solve({}).order.empty());
  const std::vector<Task> tasks{task_of(0, 0, 0), task_of(0, 0, 0), task_of(0, 5, 0)};
  EXPECT_EQ(solve({.tasks = tasks}).order.size(), 3U);
}

TEST_P(EverySolver, AnswersWithinAnySearchBudget) {
  for (const std::int64_t nodes : {0, 1, 10, 100}) {
    const SolverSample sample(11, 8);
    const OrderedTasks answer = solve(sample.problem, {.nodes = nodes});
    EXPECT_EQ(answer.order.size(), sample.tasks.size());
    EXPECT_LE(answer.lower_bound_ns, answer.cost_ns);
  }
  const SolverSample sample(11, 8);
  EXPECT_EQ(solve(sample.problem, {.stop = [] { return true; }}).order.size(), sample.tasks.size());
}

TEST_P(EverySolver, RefusesWhatCannotBe) {
  const std::vector<Task> negative{task_of(-1, 1, 1)};
  const std::vector<Task> large{task_of(1, 1, 1, 11)};
  std::vector<Task> weightless{task_of(1, 1, 1)};
  weightless.front().weight = 0;
  const std::vector<Task> many(33, task_of(1, 1, 1));
  EXPECT_THROW(solve({.tasks = negative}), InvalidInput);
  EXPECT_THROW(solve({.tasks = large, .memory_limit = Bytes{10}}), InvalidInput);
  EXPECT_THROW(solve({.tasks = weightless}), InvalidInput);
  EXPECT_THROW(solve({.tasks = many}), InvalidInput);
  const std::vector<Task> endless(3, task_of(std::numeric_limits<std::int64_t>::max() / 2, 1, 1));
  EXPECT_THROW(solve({.tasks = endless}), InvalidInput);
  EXPECT_THROW(solve({.tasks = weightless, .engines = {.downlink = Duration(-1)}}), InvalidInput);
}

INSTANTIATE_TEST_SUITE_P(Solvers, EverySolver, testing::ValuesIn(with_windows()), [](const auto& info) {
  std::string name(info.param.name);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(ExactSolver, EqualsBruteForceOnEveryRandomProblem) {
  const auto exact = make_solver("cumas");
  const auto brute_force = make_solver("cumas-bf");
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const SolverSample sample(seed, seed % 8 == 0 ? 8 : 7);
    const OrderedTasks best = brute_force->order(sample.problem, {});
    const OrderedTasks found = exact->order(sample.problem, {});
    ASSERT_NEAR(found.cost_ns, best.cost_ns, best.cost_ns * 1e-11) << "seed " << seed;
    ASSERT_TRUE(found.is_proven_best()) << "seed " << seed;
  }
}

TEST(ExactSolver, ALowerBoundIsNeverAboveTheBestHoweverEarlyItEnds) {
  const auto exact = make_solver("cumas");
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const SolverSample sample(seed, 7);
    const double best = exact->order(sample.problem, {}).cost_ns;
    for (const std::int64_t nodes : {0, 5, 20, 60}) {
      const OrderedTasks early = exact->order(sample.problem, {.nodes = nodes});
      ASSERT_LE(early.lower_bound_ns, best * (1 + 1e-11)) << "seed " << seed << ", nodes " << nodes;
      ASSERT_GE(early.cost_ns, best * (1 - 1e-11)) << "seed " << seed << ", nodes " << nodes;
    }
  }
}

TEST(ExactSolver, ProvesTwentyTasks) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Dice dice(seed);
    std::vector<Task> tasks;
    for (int i = 0; i < 20; ++i) {
      tasks.push_back(task_of(dice.between(1, 1000), dice.between(1, 1000), dice.between(1, 1000)));
    }
    EXPECT_TRUE(make_solver("cumas")->order({.tasks = tasks}, {}).is_proven_best()) << "seed " << seed;
  }
}

TEST(DynamicProgram, IsNearTheBestAndTheOneAsPrintedIsNot) {
  double dp = 0;
  double printed = 0;
  double arrival = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    std::vector<Task> tasks;
    for (int i = 0; i < 8; ++i) tasks.push_back(task_of(dice.between(1, 99), dice.between(1, 99), dice.between(1, 99)));
    const OrderingProblem problem{.tasks = tasks};
    const double best = make_solver("cumas")->order(problem, {}).cost_ns;
    dp += make_solver("cumas-dp")->order(problem, {}).cost_ns / best / 300;
    printed += make_solver("cumas-dp-as-printed")->order(problem, {}).cost_ns / best / 300;
    arrival += make_solver("strings")->order(problem, {}).cost_ns / best / 300;
  }
  RecordProperty("dp", std::to_string(dp));
  RecordProperty("printed", std::to_string(printed));
  RecordProperty("arrival", std::to_string(arrival));
  EXPECT_LT(dp, 1.02);
  EXPECT_GT(printed, dp + 0.05);
  EXPECT_GT(arrival, dp + 0.05);
}

TEST(DynamicProgram, FallsBackToArrivalIfEveryOrderWaitsForMemory) {
  const std::vector<Task> tasks{task_of(9, 9, 9, 6), task_of(1, 1, 9, 6), task_of(2, 3, 1, 6)};
  const OrderedTasks answer = make_solver("cumas-dp")->order({.tasks = tasks, .memory_limit = Bytes{10}}, {});
  EXPECT_EQ(answer.order, (std::vector{0, 1, 2}));
  EXPECT_EQ(answer.cost_ns, 27 + 11 + 6);  // one after the other: so they fit
}

TEST(MakeSolver, AnOrderingWithoutWindowsIsRefusedWithThoseThatHaveThem) {
  for (const char* name : {"fast", "arrival"}) {
    EXPECT_THAT(message_of<InvalidInput>([&] { make_solver(name); }), naming(name, "'strings'", "'cumas-dp'"));
  }
}

}  // namespace
}  // namespace gpushare
