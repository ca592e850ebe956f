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

constexpr std::int64_t quantum = 1000;
constexpr const char* one_microsecond = "round-robin:quantum_ns=1000";

PolicyRehearsal rehearsal(int launches) {
  return {one_microsecond, small_device(2), workload_of(std::vector<Launch>(launches, launch_of(99, 100)))};
}

TEST(RoundRobin, OneApplicationHasTheWholeGpu) {
  PolicyRehearsal run = rehearsal(2);
  run.arrive(0, 0);
  EXPECT_FALSE(run.plan().wake_at.has_value());
  run.arrive(1, 10);
  EXPECT_THAT(run.order(), ElementsAre(0));
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4));
  EXPECT_EQ(run.plan().wake_at, Time(Duration(quantum)));
}

TEST(RoundRobin, AnEndedApplicationLosesItsQuantum) {
  PolicyRehearsal run = rehearsal(3);
  for (const int launch : {0, 1, 2}) run.arrive(launch, 0);
  run.end_launch(0, 400);
  run.end_application(0, 400);
  EXPECT_THAT(run.order(), ElementsAre(1));
  EXPECT_EQ(run.plan().wake_at, Time(Duration(400 + quantum)));
  run.end_launch(1, 500);
  run.end_application(1, 500);
  EXPECT_THAT(run.order(), ElementsAre(2));
  EXPECT_FALSE(run.plan().wake_at.has_value());
}

TEST(RoundRobin, AQuantumOutlastsTheGapBetweenLaunches) {
  PolicyRehearsal run("round-robin:patience_ns=100:quantum_ns=1000", small_device(2),
                      workload_of(std::vector<Launch>(2, launch_of(99, 100))));
  for (const int launch : {0, 1}) run.arrive(launch, 0);
  run.end_launch(0, 400);
  EXPECT_TRUE(run.order().empty());
  EXPECT_EQ(run.plan().wake_at, Time(Duration(500)));
  run.arrive(0, 450);
  EXPECT_THAT(run.order(), ElementsAre(0));
  EXPECT_EQ(run.plan().wake_at, Time(Duration(quantum)));
  run.end_launch(0, 600);
  run.reach_deadline(700);
  EXPECT_THAT(run.order(), ElementsAre(1));
}

TEST(RoundRobin, AnArrivalAfterAnExpiredQuantumIsServedAtOnce) {
  PolicyRehearsal run = rehearsal(2);
  run.arrive(0, 0);
  run.arrive(1, 5 * quantum);
  EXPECT_THAT(run.order(), ElementsAre(1));
}

/// By whom each block was, in order of starts, without repetitions.
std::vector<int> turns_in(const Trace& trace) {
  std::vector<int> owners;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::BlockStarted) owners.push_back(static_cast<int>(event.application));
  }
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  return owners;
}

TEST(RoundRobin, ApplicationsAreServedRoundRobinForAQuantumEach) {
  // 8 blocks of 200 ns at a time: 5 rounds are a quantum. 100 blocks need 13 rounds, three turns.
  const Workload workload = workload_of(std::vector<Launch>(3, launch_of(100, 200)));
  const Trace trace = record(small_device(2), workload, one_microsecond, 1);
  EXPECT_THAT(turns_in(trace), ElementsAre(0, 1, 2, 0, 1, 2, 0, 1, 2));
  EXPECT_EQ(end_of(trace, 0), 6 * quantum + 3 * 200);
  EXPECT_EQ(end_of(trace, 2), 6 * quantum + 9 * 200);
}

TEST(RoundRobin, AQuantumIsLongEnoughForABlockToBegin) {
  Device device = small_device(2);
  device.delays = {.signal = Duration(2000), .relaunch = Duration(30'000)};
  const Workload workload = workload_of(std::vector<Launch>(2, launch_of(24, 200)));
  const Trace trace = record(device, workload, one_microsecond, 1);
  EXPECT_EQ(block_starts(trace, 0).size() + block_starts(trace, 1).size(), 48u);
}

TEST(RoundRobin, TheQuantumMustBeANumberOfMilliseconds) {
  EXPECT_THAT(message_of<InvalidInput>([] { make_policy("round-robin:quantum_ns=0"); }),
              naming("quantum_ns", "1000..1e+12"));
}

}  // namespace
}  // namespace gpushare
