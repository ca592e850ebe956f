// SPDX-License-Identifier: Apache-2.0
#include "core/session/open_run/open_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "core/engine/trace_check.hpp"
#include "core/model/errors.hpp"
#include "core/policies/registry.hpp"
#include "core/simulation/simulated_gpu.hpp"
#include "core/trace/metrics.hpp"
#include "core/trace/trace_recorder.hpp"
#include "recorded_run.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

/// An open run on the simulated GPU, whose clock stands still while work comes in.
class OpenSession {
 public:
  explicit OpenSession(const std::string& policy = "fifo") : policy_(make_policy(policy)) {}

  ApplicationId add(const std::string& name) { return run_.add({.name = name}, now_); }
  OperationId submit(ApplicationId application, std::int64_t blocks) {
    return run_.submit(application, launch_of(blocks, 100), now_);
  }
  void advance() { run_.advance(); }
  /// With nothing on the device.
  void pause(Duration length) {
    now_ = run_.state().now() + length;
    EXPECT_EQ(gpu_.next_event(now_), std::nullopt);
  }
  bool is_idle() const { return run_.is_idle(); }
  OpenRun& run() { return run_; }

  ClosedRun close(Trace& trace) {
    trace = recorder_.take();
    return run_.close(trace);
  }

 private:
  Time now_{};
  Device device_ = small_device(2);
  SimulatedGpu gpu_{device_, 0};
  std::unique_ptr<Policy> policy_;
  TraceRecorder recorder_;
  std::array<RunObserver*, 1> observers_{&recorder_};
  std::shared_ptr<OpenWork> work_ = std::make_shared<OpenWork>();
  OpenRun run_{gpu_, *policy_, work_, observers_};
};

std::vector<OperationId> ends(const Trace& trace) {
  std::vector<OperationId> launches;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::LaunchEnded) launches.push_back(event.operation);
  }
  return launches;
}

TEST(OpenRun, ALaunchRunsWhenItComes) {
  OpenSession session;
  EXPECT_TRUE(session.is_idle());
  session.submit(session.add("a"), 9);
  EXPECT_FALSE(session.is_idle());
  session.advance();
  EXPECT_TRUE(session.is_idle());
}

TEST(OpenRun, LaunchesOfAnApplicationRunOneAfterTheOther) {
  OpenSession session;
  const ApplicationId a = session.add("a");
  EXPECT_EQ(session.submit(a, 50), OperationId{0});
  EXPECT_EQ(session.submit(a, 1), OperationId{1});
  session.advance();
  Trace trace;
  session.close(trace);
  EXPECT_THAT(ends(trace), ElementsAre(OperationId{0}, OperationId{1}));
}

TEST(OpenRun, WorkMayComeAfterAPause) {
  OpenSession session;
  const ApplicationId a = session.add("a");
  session.submit(a, 3);
  session.advance();
  session.submit(a, 4);
  session.submit(session.add("b"), 5);
  EXPECT_FALSE(session.is_idle());
  session.advance();
  EXPECT_TRUE(session.is_idle());
}

TEST(OpenRun, TurnaroundIsTheTimeWithAJobInTheSystemAndNotThePauseBetween) {
  OpenSession session;
  const ApplicationId a = session.add("a");
  session.submit(a, 3);
  session.submit(a, 3);
  session.advance();
  const Duration first = session.run().state().now().time_since_epoch();
  session.pause(Duration(1'000'000));
  session.submit(a, 3);
  session.submit(a, 3);
  session.advance();
  Trace trace;
  EXPECT_THAT(session.close(trace).turnarounds, ElementsAre(2 * first));
}

TEST(OpenRun, TurnaroundOfAWithdrawnApplicationIsUpToItsLastEnd) {
  OpenSession session;
  const ApplicationId a = session.add("a");
  session.submit(a, 3);
  session.advance();
  const Duration first = session.run().state().now().time_since_epoch();
  session.pause(Duration(1'000'000));
  session.submit(session.add("b"), 50);
  session.submit(a, 3);
  session.run().withdraw(a, Time(first) + Duration(1'000'000));
  session.advance();
  Trace trace;
  EXPECT_EQ(session.close(trace).turnarounds.at(0), first);
}

TEST(OpenRun, WhatHasBeenDoneIsAWorkloadInItsOrder) {
  OpenSession session;
  const ApplicationId a = session.add("a");
  const ApplicationId b = session.add("b");
  session.submit(b, 5);
  session.submit(a, 6);
  session.submit(b, 7);
  session.advance();
  Trace trace;
  const Workload workload = session.close(trace).workload;
  ASSERT_EQ(workload.applications.size(), 2u);
  EXPECT_EQ(std::get<Launch>(workload.applications[0].operations.at(0)).blocks, 6);
  EXPECT_EQ(std::get<Launch>(workload.applications[1].operations.at(1)).blocks, 7);
  EXPECT_THAT(ends(trace), testing::UnorderedElementsAre(OperationId{0}, OperationId{1}, OperationId{2}));

  UsageMeter meter(small_device(2), workload);
  for (const Event& event : trace.events) meter.saw(event);
  EXPECT_EQ(meter.blocks(), 18);
  for (const ApplicationTimes& times : meter.applications()) EXPECT_GT(times.turnaround(), Duration{});
}

class OpenRunUnderEveryPolicy : public testing::TestWithParam<std::string> {};

TEST_P(OpenRunUnderEveryPolicy, CanBeDecidedAgain) {
  OpenSession session(GetParam());
  const ApplicationId a = session.add("a");
  session.submit(a, 40);
  const ApplicationId b = session.add("b");
  session.submit(b, 5);
  session.submit(a, 6);
  session.advance();
  ASSERT_TRUE(session.is_idle());
  Trace trace;
  const Workload workload = session.close(trace).workload;
  const auto policy = make_policy(GetParam());
  EXPECT_EQ(decide_again(trace, small_device(2), workload, *policy), trace.decisions);
}

// Those with foresight see less in an open run than in its record.
INSTANTIATE_TEST_SUITE_P(Policies, OpenRunUnderEveryPolicy, testing::Values("fifo", "even", "srtf", "srtf-adaptive"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(OpenRun, ALaunchThatFitsNoSmIsRefusedAndTheRestGoesOn) {
  OpenSession session;
  const ApplicationId a = session.add("a");
  Launch large = launch_of(1, 100);
  large.kernel.needs.threads = 1 << 16;
  EXPECT_THROW(session.run().submit(a, large, Time{}), InvalidInput);
  session.submit(a, 3);
  session.advance();
  EXPECT_TRUE(session.is_idle());
}

TEST(OpenRun, BlocksDrawTheSameWorkAsInARunThatIsKnownBeforehand) {
  Launch varied = launch_of(20, 10'000);
  varied.kernel.cost.variation_ratio = 0.5;
  OpenSession session;
  const ApplicationId a = session.add("a");
  for (int launch = 0; launch < 3; ++launch) session.run().submit(a, varied, Time{});
  session.advance();
  Trace trace;
  const Workload workload = session.close(trace).workload;
  EXPECT_EQ(trace.events, record(small_device(2), workload, "fifo", 0).events);
}

TEST(OpenRun, OfWhatWasWithdrawnBeforeItsFirstBlockNothingIsLeft) {
  OpenSession session("even");
  const ApplicationId never = session.add("never");
  session.submit(never, 4);
  session.run().withdraw(never, Time{});
  const ApplicationId stays = session.add("stays");
  session.submit(stays, 40);
  const ApplicationId partly = session.add("partly");
  session.submit(partly, 1);
  session.advance();
  session.submit(stays, 40);
  session.submit(partly, 4);
  session.run().withdraw(partly, Time{});
  session.advance();
  Trace trace;
  const Workload workload = session.close(trace).workload;
  ASSERT_EQ(workload.applications.size(), 2u);
  EXPECT_EQ(workload.applications[0].operations.size(), 2u);
  EXPECT_EQ(workload.applications[1].operations.size(), 1u);
  EXPECT_THAT(ends(trace), ElementsAre(OperationId{2}, OperationId{0}, OperationId{1}));
  EXPECT_NO_THROW(require_possible(trace, workload, small_device(2)));
  UsageMeter meter(small_device(2), workload);
  for (const Event& event : trace.events) meter.saw(event);
  for (const ApplicationTimes& times : meter.applications()) EXPECT_GT(times.turnaround(), Duration{});
}

}  // namespace
}  // namespace gpushare
