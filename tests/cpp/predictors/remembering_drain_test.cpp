// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/remembering_drain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/trace/predictions_over_time.hpp"
#include "hand_written_events.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(DrainErrors, AreNoneBeforeAnythingIsKnown) { EXPECT_EQ(DrainErrors().factor(0.5), 1); }

TEST(DrainErrors, AreInterpolatedBetweenObservations) {
  DrainErrors errors;
  errors.add({{0.2, 1.2}, {0.6, 2.0}});
  EXPECT_DOUBLE_EQ(errors.factor(0.1), 1.2);
  EXPECT_DOUBLE_EQ(errors.factor(0.3), 1.4);
  EXPECT_DOUBLE_EQ(errors.factor(0.9), 2.0);
}

TEST(DrainErrors, TheLastTwoLaunchesCount) {
  DrainErrors errors;
  errors.add({{0.5, 9}});
  errors.add({{0.2, 1}, {0.8, 3}});
  EXPECT_DOUBLE_EQ(errors.factor(0.5), 9);
  errors.add({{0.4, 2}});
  EXPECT_DOUBLE_EQ(errors.factor(0.2), 1);
  EXPECT_DOUBLE_EQ(errors.factor(0.4), 2);
  EXPECT_DOUBLE_EQ(errors.factor(0.6), 2.5);
}

TEST(DrainErrors, WhereBothWereLookedAtTheirMeanCounts) {
  DrainErrors errors;
  errors.add({{0.25, 3}, {0.5, 3}});
  errors.add({{0.25, 1}, {0.5, 2}});
  EXPECT_DOUBLE_EQ(errors.factor(0.25), 2);
  EXPECT_DOUBLE_EQ(errors.factor(0.3), 2.1);
}

TEST(DrainErrors, AnUnobservedLaunchIsNoSample) {
  DrainErrors errors;
  errors.add({{0.5, 2}});
  errors.add({});
  EXPECT_DOUBLE_EQ(errors.factor(0.5), 2);
}

/// The largest error of what is predicted of each launch from a tenth of its blocks on: of the drain rate, and with a
/// memory.
std::pair<std::vector<double>, std::vector<double>> errors_of(const Workload& workload, const Device& device) {
  const Trace trace = record(device, workload, "fifo");
  const auto launches = workload.applications[0].operations.size();
  std::vector<double> plain(launches);
  std::vector<double> remembering(launches);
  for (const LaunchPrediction& each : predictions_over_time(trace, device, workload)) {
    const auto launch = static_cast<int>(index(each.launch));
    const double runtime = static_cast<double>(end_of(trace, launch) - (launch > 0 ? end_of(trace, launch - 1) : 0));
    if (each.done < 100 || each.done == 1000) continue;
    const auto note = [&](std::vector<double>& worst, Duration predicted) {
      worst[index(each.launch)] = std::max(worst[index(each.launch)], std::abs(nanoseconds(predicted) / runtime - 1));
    };
    note(plain, each.drain_rate);
    note(remembering, each.remembering_drain);
  }
  return {plain, remembering};
}

TEST(RememberingDrain, KnowsFromTheLaunchBeforeThatLateBlocksTakeLonger) {
  Launch launch = launch_of(1000, 10'000);
  launch.kernel.cost.trend_ratio = -0.8;
  const Workload row{.name = "row", .applications = {application_of("row", std::vector<Operation>(3, launch))}};
  const auto [plain, remembering] = errors_of(row, small_device(2));
  EXPECT_EQ(remembering[0], plain[0]);
  for (int later : {1, 2}) {
    EXPECT_GT(plain[later], 0.3);
    EXPECT_LT(remembering[later], 0.05);
  }
}

/// Both predictors hear of launches of one kernel, of 40 blocks each, on two SMs with four places.
class BothHear : public HandWrittenRun {
 public:
  BothHear() : HandWrittenRun(small_device(2), workload_of(std::vector<Launch>(4, launch_of(40, 100)))) {}

  /// So many blocks, on both SMs alike.
  void wave(int launch, int blocks, std::int64_t started, std::int64_t ended) {
    for (int sm : {0, 1}) start_group(launch, sm, blocks / 2, started);
    for (int sm : {0, 1}) end_group(launch, sm, blocks / 2, started, ended);
  }
  /// Five waves, of which the last takes ten times as long as the others, after `pause`.
  void run_launch(int launch, std::int64_t begin, std::int64_t pause = 0) {
    for (int past = 0; past < 4; ++past) wave(launch, 8, begin + 100 * past, begin + 100 * (past + 1));
    wave(launch, 8, begin + 400 + pause, begin + 1400 + pause);
    end_launch(launch, begin + 1400 + pause);
  }
  double factor(int launch) const {
    const Time now = state().now();
    return nanoseconds(remembering.remaining(running(launch), now)) /
           nanoseconds(plain.remaining(running(launch), now));
  }

  DrainRate plain;
  RememberingDrain remembering;

 protected:
  void observed(const Event& event) override {
    plain.observe(event, state());
    remembering.observe(event, state());
  }
};

class AfterALaunch : public testing::TestWithParam<int> {};

// After one wave, 400 are said to remain, and 1300 do; how long it stood still before its last wave, as where another
// has the GPU in turns, does not count.
TEST_P(AfterALaunch, WhatWasWrongAboutItIsPutRight) {
  BothHear run;
  run.arrive(0, 0);
  run.run_launch(0, 0, GetParam());
  run.arrive(1, 9000);
  run.wave(1, 8, 9000, 9100);
  EXPECT_DOUBLE_EQ(run.factor(1), 1300.0 / 400);
}

INSTANTIATE_TEST_SUITE_P(StandingStillFor, AfterALaunch, testing::Values(0, 5000));

// At half the speed as much is wrong.
TEST(RememberingDrain, WhatIsLearntHoldsAtAnotherRate) {
  BothHear run;
  run.arrive(0, 0);
  run.run_launch(0, 0);
  run.arrive(1, 2000);
  run.wave(1, 8, 2000, 2200);
  EXPECT_EQ(run.remembering.remaining(run.running(1), run.state().now()), Duration(2600));
}

TEST(RememberingDrain, APartOfAGridIsNoSample) {
  BothHear run;
  run.arrive(0, 0);
  run.expect_blocks(0, 24, 10);
  run.wave(0, 8, 10, 110);
  for (const std::int64_t begin : {110, 1110}) run.wave(0, 8, begin, begin + 1000);
  run.end_launch(0, 2110);
  run.arrive(1, 3000);
  run.wave(1, 8, 3000, 3100);
  EXPECT_DOUBLE_EQ(run.factor(1), 1);
}

TEST(RememberingDrain, ALaunchDuringAnArrivalOrAnEndIsNoSample) {
  for (const bool comes : {true, false}) {
    BothHear run;
    if (!comes) run.arrive(1, 0);
    run.arrive(0, 0);
    run.wave(0, 8, 0, 100);
    if (comes) run.arrive(1, 150);
    if (!comes) run.run_launch(1, 100);
    for (int past = 1; past < 5; ++past) run.wave(0, 8, 1500 + 100 * past, 1600 + 100 * past);
    run.end_launch(0, 2000);
    if (comes) run.run_launch(1, 2000);
    run.arrive(2, 6000);
    run.wave(2, 8, 6000, 6100);
    EXPECT_DOUBLE_EQ(run.factor(2), 1) << comes;
  }
}

}  // namespace
}  // namespace gpushare
