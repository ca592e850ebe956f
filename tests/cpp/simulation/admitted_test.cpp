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
  LetsInAllButTheFirst(int quota, bool names_all) : quota_(quota), names_all_(names_all) {}
  bool admits(const RunningLaunch& launch, const State& /*state*/) override {
    return launch.application != ApplicationId{0};
  }
  Plan decide(const State& state) const override {
    Plan plan{.wake_at = state.now() + Duration(30)};
    for (const RunningLaunch& launch : state.running()) {
      if (launch.application == ApplicationId{0}) {
        plan.shares.push_back({launch.id, Quota::everywhere(quota_)});
      } else if (names_all_) {
        plan.shares.push_back({launch.id, Quota::nowhere()});
      }
    }
    return plan;
  }

 private:
  int quota_;
  bool names_all_;
};

Workload one_beside_another() {
  return {.name = "two",
          .applications = {application_of("first", {launch_of(400, 100)}),
                           application_of("let in", {launch_of(4, 10), launch_of(4, 10)}, 1005)}};
}

class Admitted : public testing::TestWithParam<bool> {};

TEST_P(Admitted, ItBeginsAtOnceWhateverPlansSayOfIt) {
  LetsInAllButTheFirst policy(2, GetParam());
  const Trace trace = record(small_device(2), one_beside_another(), policy);
  EXPECT_THAT(block_starts(trace, 1), Each(1005));
  EXPECT_THAT(block_starts(trace, 2), Each(1015));
  EXPECT_EQ(end_of(trace, 2), 1025);
}

INSTANTIATE_TEST_SUITE_P(Named, Admitted, testing::Bool());

TEST(Admitted, WhereNoRoomIsKeptItTakesThePlacesThatFallFree) {
  LetsInAllButTheFirst policy(4, false);
  const Trace trace = record(small_device(2), one_beside_another(), policy);
  EXPECT_THAT(block_starts(trace, 1), Each(1100));
  EXPECT_EQ(end_of(trace, 1), 1110);
}

// To make a plan hold takes a while, and so does a launch.
TEST(Admitted, ItWaitsForItsLaunchAndForNoPlan) {
  Device device = small_device(2);
  device.delays.launch = Duration(7);
  device.delays.signal = Duration(1000);
  LetsInAllButTheFirst policy(2, false);
  const Trace trace = record(device, one_beside_another(), policy);
  EXPECT_THAT(block_starts(trace, 1), Each(1012));
}

// The second launch of the application takes over the place of the first, and is let in all the same.
TEST(Admitted, OneThatFollowsInHardwareRunsOnce) {
  Device device = small_device(2);
  device.delays.follow = Duration(5);
  const Workload chain{.name = "chain",
                       .applications = {application_of("first", {launch_of(40, 100)}),
                                        application_of("let in", std::vector<Operation>(5, launch_of(40, 10)))}};
  LetsInAllButTheFirst policy(2, false);
  const Trace trace = record(device, chain, policy);
  expect_time_moves_forward(trace);
  expect_streams_in_order(trace, chain);
  for (int launch = 0; launch < 6; ++launch) EXPECT_EQ(block_starts(trace, launch).size(), 40U) << launch;
}

}  // namespace
}  // namespace gpushare
