// SPDX-License-Identifier: Apache-2.0
#include "core/model/host_pace.hpp"

#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "core/ordering/ordering_registry.hpp"
#include "core/trace/trace_recorder.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr ApplicationId only{0};

Launch paced(Launch launch, HostPace pace) {
  launch.pace = pace;
  return launch;
}

/// When the launches of one application start: each has one block of 100 ns.
std::vector<std::int64_t> starts(const std::vector<HostPace>& paces, std::int64_t arrival_ns = 0) {
  Application application = application_of("a", {}, arrival_ns);
  for (const HostPace& pace : paces) application.operations.push_back(paced(launch_of(1, 100), pace));
  const Trace trace = record(small_device(1), {.name = "paced", .applications = {application}}, "fifo");
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < paces.size(); ++i) times.push_back(block_starts(trace, static_cast<int>(i)).at(0));
  return times;
}

TEST(HostTimes, WithoutAPaceAnOperationIsReadyWhenTheOneBeforeHasEnded) {
  HostTimes hosts(1);
  hosts.start(only, at(5));
  EXPECT_EQ(hosts.ready(only, {}, at(5)), at(5));
  EXPECT_EQ(hosts.ready(only, {}, at(90)), at(90));
}

TEST(HostTimes, AHostThatDoesNotWaitRunsAhead) {
  HostTimes hosts(1);
  const HostPace pace{.host = Duration(10)};
  EXPECT_EQ(hosts.ready(only, pace, at(0)), at(10));
  EXPECT_EQ(hosts.ready(only, pace, at(100)), at(100)) << "issued at 20";
  EXPECT_EQ(hosts.ready(only, {.host = Duration(200)}, at(150)), at(220)) << "issued 200 after 20";
}

TEST(HostTimes, AHostThatWaitsStartsAnewAtTheEnd) {
  HostTimes hosts(1);
  EXPECT_EQ(hosts.ready(only, {.after = Duration(30)}, at(100)), at(130));
  EXPECT_EQ(hosts.ready(only, {.host = Duration(10)}, at(135)), at(140)) << "10 after it was issued, at 130";
  EXPECT_EQ(hosts.ready(only, {.host = Duration(500), .after = Duration(7)}, at(200)), at(647))
      << "it came to wait long after the end";
}

TEST(HostTimes, AGapIsTheDevicesAndHoldsUpNoHost) {
  HostTimes hosts(1);
  EXPECT_EQ(hosts.ready(only, {.gap = Duration(25)}, at(100)), at(125));
  EXPECT_EQ(hosts.ready(only, {.host = Duration(110)}, at(105)), at(110)) << "110 after 0";
}

TEST(HostPace, DelaysTheLaunchesOfARun) {
  EXPECT_EQ(starts({{}, {}}), (std::vector<std::int64_t>{0, 100}));
  EXPECT_EQ(starts({{.host = Duration(40)}, {.host = Duration(40)}, {.host = Duration(500)}}, 1000),
            (std::vector<std::int64_t>{1040, 1140, 1580}));
  EXPECT_EQ(starts({{}, {.after = Duration(70)}, {.gap = Duration(3)}}), (std::vector<std::int64_t>{0, 170, 273}));
}

TEST(HostPace, LeavesTheGpuToOthersMeanwhile) {
  // a: 0..100, then its host works until 400; b, all of whose blocks need the whole SM, fits between.
  const Workload workload{
      .name = "paced",
      .applications = {application_of("a", {launch_of(4, 100), paced(launch_of(4, 100), {.after = Duration(300)})}),
                       application_of("b", {launch_of(4, 100)})}};
  const Trace trace = record(small_device(1), workload, "fifo");
  EXPECT_EQ(end_of(trace, 2), 200);
  EXPECT_EQ(end_of(trace, 1), 500);
}

TEST(HostPace, IsKeptUnderAnOrdering) {
  Copy copy = copy_to_device(1000);
  copy.pace.after = Duration(5000);
  const Workload workload{
      .name = "paced",
      .applications = {application_of("a", {copy_to_device(1000), launch_of(1, 100), copy, launch_of(1, 100)}),
                       application_of("b", {copy_to_device(1000), launch_of(1, 100)})}};
  const Device device = small_device(1);
  for (const auto& each : orderings()) {
    SimulatedGpu gpu(device, 1);
    const auto policy = make_policy("fifo");
    const auto ordering = make_ordering(each.name, device, workload);
    TraceRecorder recorder;
    const std::array<RunObserver*, 1> observers{&recorder};
    run(gpu, *policy, workload, observers, ordering.get());
    const Trace trace = recorder.take();
    const Event started = events_of(trace, EventKind::CopyStarted, 2).at(0);
    EXPECT_GE(ns(started.time), end_of(trace, 1) + 5000) << each.name;
  }
}

TEST(HostPace, EveryPolicyFinishesPacedWork) {
  Dice dice(11);
  const Device device = small_device(2);
  Workload workload{.name = "paced"};
  for (const char* name : {"a", "b", "c"}) {
    Application application = application_of(name, {}, dice.between(0, 3000));
    for (int i = 0; i < 6; ++i) {
      const HostPace pace{.host = Duration(dice.between(0, 9000)),
                          .after = dice.once_in(2) ? std::nullopt : std::optional(Duration(dice.between(0, 9000))),
                          .gap = Duration(dice.between(0, 900))};
      application.operations.push_back(paced(random_launch(dice, device), pace));
    }
    workload.applications.push_back(application);
  }
  for (const auto& policy : policies()) {
    const Trace trace = record(device, workload, policy.name);
    for (int launch = 0; launch < 18; ++launch) EXPECT_GT(end_of(trace, launch), 0) << policy.name;
  }
}

TEST(HostPace, NegativeTimesAreRefused) {
  const Workload workload = workload_of({paced(launch_of(1, 1), {.gap = Duration(-1)})});
  EXPECT_EQ(message_of<InvalidInput>([&] { validate(workload, small_device(1)); }),
            "application 'a', kernel 'kernel': gap before it must not be negative, got -1");
}

TEST(Copy, TakesTheTimeThatItSays) {
  Copy copy = copy_to_host(1'000'000);
  copy.alone = Duration(77);
  const Workload workload{.name = "copy", .applications = {application_of("a", {copy})}};
  EXPECT_EQ(length_of(record(small_device(1), workload, "fifo")), 77);
}

}  // namespace
}  // namespace gpushare
