// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/active_applications.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(ActiveApplications, PredictsALaunchUntilThePatienceOrTheApplicationEnds) {
  Workload workload = workload_of({launch_of(8, 100)});
  const Device device = small_device();
  State state(device, workload);
  ActiveApplications active(Duration(60));
  const auto happen = [&](EventKind kind, std::int64_t at) {
    const Event event{.time = Time(Duration(at)), .kind = kind};
    state.update(event);
    active.observe(event, state);
  };
  happen(EventKind::ApplicationArrived, 0);
  happen(EventKind::LaunchArrived, 0);
  for (int i = 0; i < 8; ++i) {
    happen(EventKind::BlockStarted, 10);
    happen(EventKind::BlockEnded, 20);
  }
  const Event ended{.time = Time(Duration(100)), .kind = EventKind::LaunchEnded};
  state.update(ended);
  active.observe(ended, state);
  EXPECT_EQ(active.predicted_arrivals(Time(Duration(159))).size(), 1U);
  EXPECT_EQ(ns(*active.next_expiry(Time(Duration(159)))), 160);
  EXPECT_TRUE(active.predicted_arrivals(Time(Duration(160))).empty());
  EXPECT_FALSE(active.next_expiry(Time(Duration(160))));
  happen(EventKind::ApplicationEnded, 110);
  EXPECT_TRUE(active.predicted_arrivals(Time(Duration(111))).empty());
}

/// Two launches of one application, the second so long after the first.
std::vector<ActiveApplications::PredictedArrival> after_two_launches(std::int64_t apart,
                                                                     std::optional<Duration> latency = {}) {
  Workload workload = workload_of({launch_of(1, 100)});
  workload.applications[0].latency = latency;
  workload.applications[0].operations.push_back(launch_of(1, 100));
  const Device device = small_device();
  State state(device, workload);
  ActiveApplications active(Duration(60), Duration(500));
  std::int64_t now = 0;
  for (int launch = 0; launch < 2; ++launch) {
    for (const EventKind kind : {EventKind::LaunchArrived, EventKind::LaunchEnded}) {
      const Event event{.time = Time(Duration(now)), .operation = operation(launch), .kind = kind};
      state.update(event);
      active.observe(event, state);
    }
    now += apart;
  }
  return active.predicted_arrivals(Time(Duration(apart)));
}

TEST(ActiveApplications, PredictsNothingAfterALateReturn) {
  EXPECT_EQ(after_two_launches(50).size(), 1U);
  EXPECT_TRUE(after_two_launches(500).empty());
}

TEST(ActiveApplications, PredictsLongerForALatencyBound) {
  EXPECT_EQ(after_two_launches(500, Duration(1000)).size(), 1U);
  EXPECT_TRUE(after_two_launches(501, Duration(1000)).empty());
}

}  // namespace
}  // namespace gpushare
