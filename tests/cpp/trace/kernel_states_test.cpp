// SPDX-License-Identifier: Apache-2.0
#include "core/trace/kernel_states.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

struct Row {
  std::string state;
  std::int64_t begin;
  std::int64_t end;
  friend bool operator==(const Row&, const Row&) = default;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.state << " " << row.begin << ".." << row.end; }

std::vector<Row> states_of(const Trace& trace, const Workload& workload, int launch) {
  std::vector<Row> rows;
  for (const KernelStateSpan& span : kernel_states(trace, workload)) {
    if (span.operation != operation(launch)) continue;
    rows.push_back({std::string(name_of(span.state)), ns(span.begin), ns(span.end)});
  }
  return rows;
}

using Rows = std::vector<Row>;

// a: four waves of 100 ns; b, of higher priority, comes at 150 and takes 60.
TEST(KernelStates, OfAnEvictionAndAResumption) {
  Workload workload = workload_of({launch_of(16, 100), launch_of(8, 30)}, {0, 150});
  workload.applications[1].priority = 1;
  const Trace trace = record(small_device(), workload, "effisha-static");
  EXPECT_EQ(
      states_of(trace, workload, 0),
      (Rows{
          {"RUNNING", 0, 150}, {"TOEVICT", 150, 200}, {"READY", 200, 260}, {"RUNNING", 260, 460}, {"DONE", 460, 460}}));
  EXPECT_EQ(states_of(trace, workload, 1), (Rows{{"TORUN", 150, 200}, {"RUNNING", 200, 260}, {"DONE", 260, 260}}));
}

TEST(KernelStates, ALaunchWithoutBlocksToStartIsNotEvicted) {
  Workload workload = workload_of({launch_of(4, 100), launch_of(4, 30)}, {0, 50});
  workload.applications[1].priority = 1;
  const Trace trace = record(small_device(), workload, "effisha-static");
  EXPECT_EQ(states_of(trace, workload, 0), (Rows{{"RUNNING", 0, 100}, {"DONE", 100, 100}}));
}

TEST(KernelStates, PreparationIsMemoryAndCopiesAndEarlierLaunches) {
  Device device = small_device();
  device.memory = Bytes{10};
  Workload workload{
      .applications = {application_of("a", {copy_to_device(30), launch_of(4, 100), copy_to_host(5), launch_of(4, 100)}),
                       application_of("b", {launch_of(4, 100)}, 20)}};
  for (Application& each : workload.applications) each.memory = Bytes{10};
  const Trace trace = record(device, workload, "fifo");
  EXPECT_EQ(states_of(trace, workload, 1), (Rows{{"PREP", 0, 30}, {"RUNNING", 30, 130}, {"DONE", 130, 130}}));
  EXPECT_EQ(states_of(trace, workload, 3), (Rows{{"PREP", 130, 135}, {"RUNNING", 135, 235}, {"DONE", 235, 235}}));
  EXPECT_EQ(states_of(trace, workload, 4), (Rows{{"PREP", 20, 235}, {"RUNNING", 235, 335}, {"DONE", 335, 335}}));
}

TEST(KernelStates, ALaunchThatWaitsForAPlanIsReady) {
  Workload workload = workload_of({launch_of(8, 100), launch_of(4, 100)}, {0, 50});
  const Trace trace = record(small_device(), workload, "effisha-static");
  EXPECT_EQ(states_of(trace, workload, 1), (Rows{{"READY", 50, 200}, {"RUNNING", 200, 300}, {"DONE", 300, 300}}));
}

TEST(KernelStates, FollowOneAnotherWithoutGapsInRandomRuns) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    Device device = random_device(dice);
    device.delays = random_delays(dice);
    const Workload workload = random_workload(dice, device, 5);
    const Trace trace = record(device, workload, seed % 2 == 0 ? "effisha-dynamic" : "srtf", seed);
    for (std::size_t id = 0; id < operations_of(workload).size(); ++id) {
      if (!std::holds_alternative<Launch>(operations_of(workload)[id])) continue;
      const std::vector<Row> rows = states_of(trace, workload, static_cast<int>(id));
      ASSERT_EQ(rows.back(), (Row{"DONE", end_of(trace, static_cast<int>(id)), end_of(trace, static_cast<int>(id))}));
      for (std::size_t row = 0; row + 1 < rows.size(); ++row) {
        EXPECT_LT(rows[row].begin, rows[row].end);
        EXPECT_EQ(rows[row].end, rows[row + 1].begin);
        EXPECT_NE(rows[row].state, rows[row + 1].state);
      }
    }
  }
}

/// Everybody has half of the room, and who is urgent is let into the rest.
class HalfKept : public Policy {
 public:
  bool admits(const RunningLaunch& launch, const State& state) override {
    return state.priority(launch.application) > 0;
  }
  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& each : state.running()) {
      if (state.priority(each.application) == 0) plan.shares.push_back({each.id, Quota::everywhere(2)});
    }
    return plan;
  }
};

TEST(KernelStates, AnAdmittedLaunchRunsWithoutAPlan) {
  Workload workload = workload_of({launch_of(8, 100), launch_of(6, 60), launch_of(2, 100)}, {0, 50, 60});
  workload.applications[1].priority = 1;
  HalfKept policy;
  const Trace trace = record(small_device(), workload, policy);
  EXPECT_EQ(states_of(trace, workload, 1), (Rows{{"RUNNING", 50, 170}, {"DONE", 170, 170}}));
}

}  // namespace
}  // namespace gpushare
