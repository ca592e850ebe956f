// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/attendance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(Attendance, AnApplicationIsExpectedAfterALaunchUntilPatienceOrItselfEnds) {
  Workload workload = workload_of({launch_of(8, 100)});
  const Device device = small_device();
  State state(device, workload);
  Attendance attendance(Duration(60));
  const auto happen = [&](EventKind kind, std::int64_t at) {
    const Event event{.time = Time(Duration(at)), .kind = kind};
    state.update(event);
    attendance.observe(event, state);
  };
  happen(EventKind::ApplicationArrived, 0);
  happen(EventKind::LaunchArrived, 0);
  for (int i = 0; i < 8; ++i) {
    happen(EventKind::BlockStarted, 10);
    happen(EventKind::BlockEnded, 20);
  }
  const Event ended{.time = Time(Duration(100)), .kind = EventKind::LaunchEnded};
  state.update(ended);
  attendance.observe(ended, state);
  EXPECT_EQ(attendance.expected(Time(Duration(159))).size(), 1U);
  EXPECT_EQ(ns(*attendance.next_loss(Time(Duration(159)))), 160);
  EXPECT_TRUE(attendance.expected(Time(Duration(160))).empty());
  EXPECT_FALSE(attendance.next_loss(Time(Duration(160))));
  happen(EventKind::ApplicationEnded, 110);
  EXPECT_TRUE(attendance.expected(Time(Duration(111))).empty());
}

/// Two launches of one application, the second so long after the first.
std::vector<Attendance::Expected> after_two_launches(std::int64_t apart, std::optional<Duration> latency = {}) {
  Workload workload = workload_of({launch_of(1, 100)});
  workload.applications[0].latency = latency;
  workload.applications[0].operations.push_back(launch_of(1, 100));
  const Device device = small_device();
  State state(device, workload);
  Attendance attendance(Duration(60), Duration(500));
  std::int64_t now = 0;
  for (int launch = 0; launch < 2; ++launch) {
    for (const EventKind kind : {EventKind::LaunchArrived, EventKind::LaunchEnded}) {
      const Event event{.time = Time(Duration(now)), .operation = operation(launch), .kind = kind};
      state.update(event);
      attendance.observe(event, state);
    }
    now += apart;
  }
  return attendance.expected(Time(Duration(apart)));
}

TEST(Attendance, AnApplicationThatMissedThePatienceIsNotWaitedForAgain) {
  EXPECT_EQ(after_two_launches(50).size(), 1U);
  EXPECT_TRUE(after_two_launches(500).empty());
}

TEST(Attendance, AnApplicationWithALatencyBoundIsWaitedForLonger) {
  EXPECT_EQ(after_two_launches(500, Duration(1000)).size(), 1U);
  EXPECT_TRUE(after_two_launches(501, Duration(1000)).empty());
}

}  // namespace
}  // namespace gpushare
