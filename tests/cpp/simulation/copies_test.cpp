// SPDX-License-Identifier: Apache-2.0
// Copies on the simulated GPU: one byte takes one nanosecond in either direction.
#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

Trace recorded(const std::vector<Application>& applications) {
  return record(small_device(), Workload{.applications = applications}, "fifo");
}

TEST(Copies, TakeLatencyAndBytesOverBandwidth) {
  Device device = small_device();
  device.to_device = {.latency = Duration(100), .bandwidth = {2e9}};
  device.to_host = {.latency = Duration(7), .bandwidth = {0.5e9}};
  const Workload workload{.applications = {application_of("a", {copy_to_device(1000), copy_to_host(1000)})}};
  const Trace trace = record(device, workload, "fifo");
  EXPECT_EQ(end_of(trace, 0), 100 + 500);
  EXPECT_EQ(end_of(trace, 1), 600 + 7 + 2000);
}

TEST(Copies, TakeATimeHoweverShort) {
  Device device = small_device();
  device.to_device = {.bandwidth = {1e12}};
  const Workload workload{.applications = {application_of("a", {copy_to_device(1), copy_to_device(1)})}};
  EXPECT_EQ(end_of(record(device, workload, "fifo"), 1), 2);
}

TEST(Copies, OneAtATimePerDirection) {
  const Trace trace = recorded({application_of("a", {copy_to_device(100)}), application_of("b", {copy_to_device(50)}),
                                application_of("c", {copy_to_device(25)})});
  EXPECT_EQ(end_of(trace, 0), 100);
  EXPECT_EQ(end_of(trace, 1), 150);
  EXPECT_EQ(end_of(trace, 2), 175);
}

TEST(Copies, BothDirectionsOverlap) {
  const Trace trace = recorded({application_of("a", {copy_to_device(100)}), application_of("b", {copy_to_host(80)})});
  EXPECT_EQ(end_of(trace, 0), 100);
  EXPECT_EQ(end_of(trace, 1), 80);
}

TEST(Copies, OverlapTheKernelsOfOthers) {
  const Trace trace = recorded({application_of("a", {launch_of(4, 500)}), application_of("b", {copy_to_device(300)})});
  EXPECT_EQ(end_of(trace, 0), 500);
  EXPECT_EQ(end_of(trace, 1), 300);
}

TEST(Copies, NeverOverlapTheKernelsOfTheirOwnStream) {
  const Trace trace = recorded({application_of("a", {copy_to_device(100), launch_of(4, 500), copy_to_host(30)})});
  EXPECT_EQ(block_starts(trace, 1).front(), 100);
  EXPECT_EQ(events_of(trace, EventKind::CopyStarted, 2).front().time, Time(Duration(600)));
  EXPECT_EQ(length_of(trace), 630);
}

TEST(Copies, TwoPipelinesOverlapStageByStage) {
  // Each: 100 in, 100 on the SMs, 100 out. The second follows one stage behind.
  const std::vector<Operation> task{copy_to_device(100), launch_of(4, 100), copy_to_host(100)};
  EXPECT_EQ(length_of(recorded({application_of("a", task), application_of("b", task)})), 400);
}

TEST(Copies, AreServedInTheOrderInWhichTheyBecomeReady) {
  const Trace trace =
      recorded({application_of("a", {launch_of(1, 10), copy_to_device(100)}),
                application_of("b", {copy_to_device(50)}, 5), application_of("c", {copy_to_device(50)}, 20)});
  EXPECT_EQ(end_of(trace, 2), 55);
  EXPECT_EQ(end_of(trace, 1), 155);
  EXPECT_EQ(end_of(trace, 3), 205);
}

TEST(Copies, SayWhenTheyStarted) {
  const Trace trace = recorded({application_of("a", {copy_to_device(100)}), application_of("b", {copy_to_device(50)})});
  EXPECT_EQ(events_of(trace, EventKind::CopyEnded, 1).front().started, Time(Duration(100)));
}

}  // namespace
}  // namespace gpushare
