// SPDX-License-Identifier: Apache-2.0
// What mix and auto do for applications that ask for a min_speed or a latency bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "hand_written_events.hpp"
#include "recorded_run.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::Each;
using testing::ElementsAre;

const Device& device_of_rates() {
  static const Device device = mixing_device();
  return device;
}

/// Applications whose kernels issue all the time, so that nobody gains anything from another; launches take that long
/// alone.
Workload alike_for(const std::vector<Duration>& alone) {
  const double rate = rate_alone(device_of_rates(), issuing_kernel());
  std::vector<Launch> launches;
  for (const Duration each : alone) {
    launches.push_back({.kernel = issuing_kernel("kernel " + std::to_string(launches.size())),
                        .blocks = static_cast<std::int64_t>(rate * nanoseconds(each))});
  }
  return workload_of(launches);
}

constexpr Duration millisecond(1'000'000);

PolicyRehearsal all_there(std::string_view policy, Workload workload, Device device = mixing_device()) {
  const int count = static_cast<int>(workload.applications.size());
  PolicyRehearsal run(policy, std::move(device), std::move(workload));
  for (int i = 0; i < count; ++i) run.arrive(i, 100 * i);
  return run;
}

/// Its part of all places.
double part(const PolicyRehearsal& run, int launch) {
  const std::vector<int> blocks = run.quotas(launch);
  return std::accumulate(blocks.begin(), blocks.end(), 0.0) / (8.0 * static_cast<double>(blocks.size()));
}

TEST(ApplicationMinSpeed, HoldsForThatApplicationAlone) {
  Workload workload = alike_for({millisecond, millisecond});
  EXPECT_NEAR(part(all_there("mix", workload), 0), 0.5, 0.15);
  workload.applications[0].min_speed = 0.75;
  const PolicyRehearsal run = all_there("mix", workload);
  EXPECT_GE(part(run, 0), 0.7);
  EXPECT_GT(part(run, 1), 0.05);
}

TEST(ApplicationMinSpeed, GoesBeforeThatOfThePolicy) {
  Workload workload = alike_for({millisecond, millisecond});
  workload.applications[0].min_speed = 0.2;
  workload.applications[0].weight = 0.01;
  const PolicyRehearsal run = all_there("mix:min_speed=0.6", workload);
  EXPECT_LT(part(run, 0), 0.45);
  EXPECT_GE(part(run, 1), 0.55);
}

TEST(ApplicationMinSpeed, LeavesAShareToEveryApplication) {
  Workload workload = alike_for({millisecond, millisecond, millisecond});
  workload.applications[0].min_speed = 1;
  workload.applications[1].min_speed = 1;
  const PolicyRehearsal run = all_there("mix", workload);
  EXPECT_NEAR(part(run, 0), part(run, 1), 0.13);
  EXPECT_GT(part(run, 2), 0);
}

/// Otherwise the allocation of the first co-run set would be used for the second.
TEST(ApplicationMinSpeed, MakesAnotherCoRunSetOfTheSameKernels) {
  const double rate = rate_alone(device_of_rates(), issuing_kernel());
  const auto launch = [&](std::string name) {
    return Launch{.kernel = issuing_kernel(std::move(name)), .blocks = static_cast<std::int64_t>(rate * 1e6)};
  };
  Workload workload = workload_of({launch("one"), launch("other"), launch("one")});
  workload.applications[0].min_speed = 0.75;
  PolicyRehearsal run("mix:patience_ns=0", mixing_device(), workload);
  run.arrive(0, 0);
  run.arrive(1, 100);
  EXPECT_LT(part(run, 1), 0.3);
  run.end_launch(0, 1000);
  run.end_application(0, 1000);
  run.arrive(2, 2000);
  EXPECT_GT(part(run, 1), 0.35);
}

TEST(ApplicationMinSpeed, ExcludesSerialOrderWhileItApplies) {
  Workload workload = alike_for({millisecond, 3 * millisecond, 3 * millisecond});
  workload.applications[0].min_speed = 0.3;
  PolicyRehearsal run = all_there("auto:patience_ns=0", workload);
  EXPECT_LT(part(run, 1), 0.7);
  run.end_launch(0, 1'000'000);
  run.end_application(0, 1'000'000);
  EXPECT_THAT(run.quotas(1), Each(8));
  EXPECT_THAT(run.quotas(2), Each(8));
}

TEST(LatencyBound, IsAMinSpeedBesideOthers) {
  Workload workload = alike_for({millisecond, 5 * millisecond});
  workload.applications[0].latency = Duration(1'450'000);
  for (const char* policy : {"mix", "auto"}) {
    SCOPED_TRACE(policy);
    const PolicyRehearsal run = all_there(policy, workload);
    EXPECT_GE(part(run, 0), 0.65);
    EXPECT_LT(part(run, 0), 1);
    EXPECT_GT(part(run, 1), 0);
  }
}

TEST(LatencyBound, GoesFirstWhereItCannotBeKeptSideBySide) {
  Workload workload = alike_for({5 * millisecond, millisecond});
  workload.applications[1].latency = Duration(1'000'500);
  for (const char* policy : {"mix", "auto"}) {
    SCOPED_TRACE(policy);
    PolicyRehearsal run = all_there(policy, workload);
    EXPECT_THAT(run.order(), ElementsAre(1, 0));
    EXPECT_THAT(run.quotas(0), Each(8));
    EXPECT_THAT(run.quotas(1), Each(8));
  }
}

/// Both cannot have three quarters of the GPU.
TEST(LatencyBound, OfTwoThatCannotBothBeKeptOneGoesFirst) {
  Workload workload = alike_for({millisecond, millisecond});
  for (Application& application : workload.applications) application.latency = Duration(1'350'000);
  const PolicyRehearsal run = all_there("mix", workload);
  EXPECT_THAT(run.quotas(0), Each(8));
  EXPECT_THAT(run.quotas(1), Each(8));
}

TEST(LatencyBound, OfAKernelOfWhichNothingIsKnownGoesFirst) {
  Workload workload = alike_for({millisecond, millisecond});
  std::get<Launch>(workload.applications[1].operations[0]).kernel.is_profiled = false;
  workload.applications[1].latency = 10 * millisecond;
  const PolicyRehearsal run = all_there("auto", workload);
  EXPECT_EQ(run.order().front(), 1);
  EXPECT_THAT(run.quotas(1), Each(8));
}

TEST(LatencyBound, AllowsSerialOrderOfArrivalWhereARoundIsShorter) {
  Workload workload = alike_for({3 * millisecond, millisecond});
  EXPECT_THAT(all_there("auto", workload).order(), ElementsAre(1, 0));
  workload.applications[0].latency = 5 * millisecond;
  const PolicyRehearsal turns = all_there("auto", workload);
  EXPECT_THAT(turns.order(), ElementsAre(0, 1));
  EXPECT_THAT(turns.quotas(0), Each(8));
  EXPECT_THAT(turns.quotas(1), Each(8));
  workload.applications[0].latency = Duration(3'900'000);
  EXPECT_LT(part(all_there("auto", workload), 0), 1);
}

TEST(LatencyBound, OfTheCautiousIsTakenCareOfOnceTheSearchIsOver) {
  Device device = mixing_device();
  device.per_sm.issue_order = IssueOrder::OldestFirst;
  Workload workload = alike_for({millisecond, millisecond});
  for (Application& application : workload.applications) {
    application.operations.resize(30, application.operations.front());
  }
  workload.applications[0].latency = Duration(1'450'000);
  const Trace trace = record(device, workload, "mix");
  std::int64_t in_time = 0;
  std::map<OperationId, Time> arrived;
  for (const Event& event : trace.events) {
    if (event.application != ApplicationId{0}) continue;
    if (event.kind == EventKind::LaunchArrived) arrived[event.operation] = event.time;
    if (event.kind == EventKind::LaunchEnded && event.time - arrived.at(event.operation) <= Duration(1'450'000)) {
      ++in_time;
    }
  }
  EXPECT_GE(in_time, 25);
}

}  // namespace
}  // namespace gpushare
