// SPDX-License-Identifier: Apache-2.0
// Launches that begin without a plan, in room that has been kept for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"
#include "trace_promises.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::Each;

/// Lets in whoever is not the first application, which gets this quota.
class LetsInAllButTheFirst : public Policy {
 public:
  explicit LetsInAllButTheFirst(int quota) : quota_(quota) {}
  bool admits(const RunningLaunch& launch, const State& /*state*/) override {
    return launch.application != ApplicationId{0};
  }
  Plan decide(const State& state) const override {
    Plan plan{.wake_at = state.now() + Duration(30)};
    for (const RunningLaunch& launch : state.running()) {
      if (launch.application == ApplicationId{0}) plan.shares.push_back({launch.id, Quota::everywhere(quota_)});
    }
    return plan;
  }

 private:
  int quota_;
};

Workload one_beside_another() {
  return {.name = "two",
          .applications = {application_of("first", {launch_of(400, 100)}),
                           application_of("let in", {launch_of(4, 10), launch_of(4, 10)}, 1005)}};
}

TEST(Admitted, ItBeginsAtOnceAndPlansThatDoNotNameItChangeNothing) {
  LetsInAllButTheFirst policy(2);
  const Trace trace = record(small_device(2), one_beside_another(), policy);
  EXPECT_THAT(block_starts(trace, 1), Each(1005));
  EXPECT_THAT(block_starts(trace, 2), Each(1015));
  EXPECT_EQ(end_of(trace, 2), 1025);
}

/// Lets everybody in, and from 2000 on names everybody: who comes first has the GPU to himself.
class ChangesItsMind : public Policy {
 public:
  bool admits(const RunningLaunch& /*launch*/, const State& /*state*/) override { return true; }
  Plan decide(const State& state) const override {
    Plan plan{.wake_at = state.now() + Duration(500)};
    if (state.now() < Time(Duration(2000))) return plan;
    for (const RunningLaunch& launch : state.running()) {
      plan.shares.push_back({launch.id, Quota::everywhere(plan.shares.empty() ? 4 : 0)});
    }
    return plan;
  }
};

// Of 24 waves that take 100 each some 20 had come when the first one got all: until then both had half.
TEST(Admitted, APlanThatNamesItHoldsForIt) {
  const Workload two{.name = "two",
                     .applications = {application_of("first", {launch_of(200, 100)}),
                                      application_of("second", {launch_of(200, 100)})}};
  ChangesItsMind policy;
  const Trace trace = record(small_device(2), two, policy);
  const auto starts = block_starts(trace, 1);
  const std::int64_t end = end_of(trace, 0);
  EXPECT_EQ(std::ranges::count_if(starts, [&](std::int64_t time) { return time > 2000 && time < end; }), 0);
  EXPECT_EQ(starts.size(), 200U);
}

TEST(Admitted, WhereNoRoomIsKeptItTakesThePlacesThatFallFree) {
  LetsInAllButTheFirst policy(4);
  const Trace trace = record(small_device(2), one_beside_another(), policy);
  EXPECT_THAT(block_starts(trace, 1), Each(1100));
  EXPECT_EQ(end_of(trace, 1), 1110);
}

// To make a plan hold takes a while, and so does a launch.
TEST(Admitted, ItWaitsForItsLaunchAndForNoPlan) {
  Device device = small_device(2);
  device.delays.launch = Duration(7);
  device.delays.signal = Duration(1000);
  LetsInAllButTheFirst policy(2);
  const Trace trace = record(device, one_beside_another(), policy);
  EXPECT_THAT(block_starts(trace, 1), Each(1012));
}

/// Gives everybody a share, and lets in every other launch.
class LetsInEveryOther : public Policy {
 public:
  bool admits(const RunningLaunch& /*launch*/, const State& /*state*/) override { return ++asked_ % 2 == 0; }
  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) plan.shares.push_back(full_share(launch));
    return plan;
  }
  bool wants(const Event& event) const override { return event.kind == EventKind::LaunchArrived && asked_ % 2 == 1; }

 private:
  int asked_ = 0;
};

// Every other launch of the application takes over the place of the one before it, and is let in all the same.
TEST(Admitted, OneThatFollowsInHardwareRunsOnce) {
  Device device = small_device(2);
  device.delays.follow = Duration(5);
  device.delays.launch = Duration(50);
  const Workload chain{.name = "chain",
                       .applications = {application_of("let in", std::vector<Operation>(6, launch_of(40, 10)))}};
  LetsInEveryOther policy;
  const Trace trace = record(device, chain, policy);
  expect_time_moves_forward(trace);
  expect_streams_in_order(trace, chain);
  for (int launch = 0; launch < 6; ++launch) EXPECT_EQ(block_starts(trace, launch).size(), 40U) << launch;
  EXPECT_EQ(block_starts(trace, 1).front() - end_of(trace, 0), 5);   // it followed
  EXPECT_EQ(block_starts(trace, 2).front() - end_of(trace, 1), 50);  // behind who was let in nobody follows
}

}  // namespace
}  // namespace gpushare
