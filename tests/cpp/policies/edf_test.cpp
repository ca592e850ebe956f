// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "hand_written_events.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

/// Launches that take 1000 ns alone on one SM: 40 blocks of 100 ns, four at once.
Workload due_at(const std::vector<std::optional<std::int64_t>>& deadlines_ns) {
  Workload workload = workload_of(std::vector<Launch>(deadlines_ns.size(), launch_of(40, 100)));
  for (std::size_t i = 0; i < deadlines_ns.size(); ++i) {
    if (deadlines_ns[i]) workload.applications[i].deadline = Duration(*deadlines_ns[i]);
  }
  return workload;
}

PolicyRehearsal all_there(const std::vector<std::optional<std::int64_t>>& deadlines_ns) {
  PolicyRehearsal run("edf", small_device(), due_at(deadlines_ns));
  for (std::size_t i = 0; i < deadlines_ns.size(); ++i) run.arrive(static_cast<int>(i), 0);
  return run;
}

TEST(EarliestDeadlineFirst, TheEarliestDeadlineGoesFirstAndNoDeadlineLast) {
  EXPECT_THAT(all_there({std::nullopt, 9000, 5000, 7000}).order(), ElementsAre(2, 3, 1, 0));
}

TEST(EarliestDeadlineFirst, ADeadlineCountsFromTheArrivalOfItsApplication) {
  Workload workload = due_at({3000, 2500});
  workload.applications[1].arrival = Duration(1000);
  PolicyRehearsal run("edf", small_device(), std::move(workload));
  run.arrive(0, 0);
  run.arrive(1, 1000);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));
}

TEST(EarliestDeadlineFirst, AnUnreachableDeadlineDelaysNoOther) {
  // The first would be late whatever happens; in front it would make the second late, too.
  EXPECT_THAT(all_there({900, 1500}).order(), ElementsAre(1, 0));
}

TEST(EarliestDeadlineFirst, OfSeveralTheLongestIsGivenUp) {
  Workload workload = due_at({2000, 2100, 2200});
  std::get<Launch>(workload.applications[0].operations[0]).blocks = 60;  // 1500 ns; the others 1000 ns each
  std::get<Launch>(workload.applications[0].operations[0]).alone.reset();
  PolicyRehearsal run("edf", small_device(), std::move(workload));
  for (int i = 0; i < 3; ++i) run.arrive(i, 0);
  EXPECT_THAT(run.order(), ElementsAre(1, 2, 0));
}

TEST(EarliestDeadlineFirst, AdmitsAgainWhatHasBecomePossible) {
  PolicyRehearsal run = all_there({1500, 1600});
  EXPECT_EQ(run.order().size(), 2U);
  const int given_up = run.order().back();
  run.end_launch(1 - given_up, 100);
  EXPECT_THAT(run.order(), ElementsAre(given_up));
}

TEST(EarliestDeadlineFirst, AKernelWithoutAProfileIsTakenToBeInTimeUntilItsBlocksTell) {
  Workload workload = due_at({900, 1500});
  for (Application& application : workload.applications) {
    std::get<Launch>(application.operations[0]).kernel.is_profiled = false;
  }
  PolicyRehearsal run("edf", small_device(), std::move(workload));
  run.arrive(0, 0);
  for (int block = 0; block < 4; ++block) run.start_block(0, 0, 0);
  for (int block = 0; block < 4; ++block) run.end_block(0, 0, 0, 100);
  run.arrive(1, 110);  // 36 blocks of 100 ns are left of the first: 900 ns, until 1010
  EXPECT_THAT(run.order(), ElementsAre(1, 0));
}

TEST(EarliestDeadlineFirst, MeetsMoreDeadlinesThanOrderOfArrival) {
  const Workload workload = due_at({std::nullopt, 2100, 1050});
  const Trace trace = record(small_device(), workload, "edf");
  EXPECT_LE(end_of(trace, 2), 1050);
  EXPECT_LE(end_of(trace, 1), 2100);
  const Trace in_order = record(small_device(), workload, "fifo");
  EXPECT_GT(end_of(in_order, 2), 1050);
}

TEST(EarliestDeadlineFirst, ADeadlineShorterThanTheKnownTimeAloneIsRefused) {
  Workload workload = due_at({900});
  std::get<Launch>(workload.applications[0].operations[0]).alone = Duration(1000);
  EXPECT_THAT(message_of<InvalidInput>([&] { validate(workload, small_device()); }), naming("a", 900, 1000));
  workload.applications[0].deadline = Duration(0);
  EXPECT_THAT(message_of<InvalidInput>([&] { validate(workload, small_device()); }), naming("deadline", 0));
  workload.applications[0].deadline = Duration(1000);
  EXPECT_NO_THROW(validate(workload, small_device()));
}

}  // namespace
}  // namespace gpushare
