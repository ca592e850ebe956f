// SPDX-License-Identifier: Apache-2.0
// Original kernels on streams, and trials of workers, on the stand-in.
#include "cuda/measure/hardware_run.hpp"
#include "core/trace/trace_recorder.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "cuda/measure/copy_timing.hpp"
#include "cuda/measure/launch_timing.hpp"
#include "cuda/measure/worker_trial.hpp"
#include "sample_work.hpp"

namespace gpushare::cuda::test {
namespace {

class OnHardware : public OnStandIn {
 protected:
  Saxpys saxpys() { return {array(Saxpys::input()), array(Saxpys::input())}; }
};

class EveryWay : public OnHardware, public testing::WithParamInterface<HardwareSharing> {};

TEST_P(EveryWay, ResultsAreRight) {
  const auto kernel = load("saxpy");
  Saxpys first = saxpys();
  Saxpys second = saxpys();
  Work work;
  work.add_application("first");
  first.add_to(work, kernel, 5);
  work.add_application("second");
  second.add_to(work, kernel, 3);
  TraceRecorder recorder;
  std::array<RunObserver*, 1> observers{&recorder};
  int heartbeats = 0;
  run_on_hardware(context, work.workload, work.program, {.sharing = GetParam(), .levels = {1, 0}}, observers,
                  [&](const auto&) { ++heartbeats; });
  EXPECT_EQ(values<float>(first.result(), Saxpys::count), first.expected());
  EXPECT_EQ(values<float>(second.result(), Saxpys::count), second.expected());
  const Trace trace = recorder.take();
  EXPECT_EQ(std::ranges::count(trace.events, EventKind::LaunchEnded, &gpushare::Event::kind), 8);
}

INSTANTIATE_TEST_SUITE_P(Cuda, EveryWay,
                         testing::Values(HardwareSharing::Serial, HardwareSharing::Streams, HardwareSharing::Priority));

/// The first launches wait until all that may go to the hardware has gone there.
TEST_F(OnHardware, ManyApplicationsWithManyLaunchesEach) {
  const auto kernel = load("wait_at_gate", wait_at_gate);
  const DeviceMemory gate = array(std::vector{0});
  const DeviceMemory arrived = array(std::vector{0});
  constexpr int applications = 65;
  constexpr int launches = 64;
  Work work;
  for (int application = 0; application < applications; ++application) {
    work.add_application("application " + std::to_string(application));
    for (int launch = 0; launch < launches; ++launch) {
      work.add_launch(kernel, 1, 1, arguments(gate.get(), arrived.get(), for_ever));
    }
  }
  const auto open_gate = [&](const auto&) { write(gate, 1); };
  run_on_hardware(context, work.workload, work.program, {}, {}, open_gate);
  EXPECT_EQ(values<int>(arrived, 1), std::vector{applications * launches});
}

TEST_F(OnHardware, WhatRanBesideALaunchThatWasRefusedHasEnded) {
  const auto kernel = load("wait_at_gate", wait_at_gate);
  const DeviceMemory gate = array(std::vector{0});
  const DeviceMemory arrived = array(std::vector{0});
  Saxpys refused = saxpys();
  Work work;
  work.add_application("waits");
  work.add_launch(kernel, 3, 1, arguments(gate.get(), arrived.get(), some_ms));
  work.add_application("refused");
  refused.add_to(work, load("saxpy"), 1);
  std::get<DeviceLaunch>(work.program.back()).shared_bytes = 60'000;
  EXPECT_THROW(run_on_hardware(context, work.workload, work.program, {}, {}, [](const auto&) {}), CudaError);
  forget_misuse();
  EXPECT_EQ(values<int>(arrived, 1), std::vector{3});
  EXPECT_FALSE(context->is_lost());
}

TEST_F(OnHardware, GreenContextsHaveSmsOfTheirOwn) {
  const auto kernel = load("saxpy");
  Saxpys first = saxpys();
  Saxpys second = saxpys();
  Work work;
  work.add_application("first");
  first.add_to(work, kernel, 3);
  work.add_application("second");
  second.add_to(work, kernel, 2);
  const HardwareSetup setup{.sharing = HardwareSharing::GreenContexts, .sms = {2, 2}};
  run_on_hardware(context, work.workload, work.program, setup, {}, [](const auto&) {});
  EXPECT_EQ(values<float>(first.result(), Saxpys::count), first.expected());
  EXPECT_EQ(values<float>(second.result(), Saxpys::count), second.expected());
  const HardwareSetup too_many{.sharing = HardwareSharing::GreenContexts, .sms = {2, 4}};
  EXPECT_THROW(run_on_hardware(context, work.workload, work.program, too_many, {}, [](const auto&) {}), InvalidInput);
}

TEST_F(OnHardware, ATrialKeepsToItsQuotas) {
  const auto kernel = load("saxpy");
  Saxpys data = saxpys();
  Work work;
  work.add_application("only");
  data.add_to(work, kernel, 1);
  const auto& launch = std::get<DeviceLaunch>(work.program.front());
  const Trial trial = run_trial(*resources, launch, {.quotas = {0, 2, 1, 0}, .limit = Duration(5'000'000'000)});
  EXPECT_TRUE(trial.finished);
  EXPECT_FALSE(trial.told);
  const std::vector<WorkerSm>& sms = trial.samples.back().sms;
  EXPECT_EQ(sms[0].tasks_done + sms[3].tasks_done, 0u);
  EXPECT_EQ(sms[1].tasks_done + sms[2].tasks_done, Saxpys::blocks);
  for (const TrialSample& sample : trial.samples) EXPECT_LE(sample.sms[2].workers, 1u);
  EXPECT_EQ(values<float>(data.result(), Saxpys::count), data.expected());
}

TEST_F(OnHardware, ATrialEndsAtABlockBoundaryAfterItsLimit) {
  const std::vector<unsigned> closed{0};
  const DeviceMemory gate = array(closed);
  const DeviceMemory arrived = array(closed);
  Work work;
  work.add_application("only");
  work.add_launch(load("wait_at_gate", wait_at_gate), 8, 32, arguments(gate.get(), arrived.get(), some_ms));
  const auto& launch = std::get<DeviceLaunch>(work.program.front());
  const Trial trial = run_trial(*resources, launch, {.quotas = {1, 1, 0, 0}, .limit = Duration(1)});
  ASSERT_TRUE(trial.told);
  EXPECT_GE(*trial.told, Duration(1));
  EXPECT_GT(trial.end, *trial.told);
  EXPECT_FALSE(trial.finished);
}

TEST_F(OnHardware, LaunchesAndCopiesAreTimed) {
  const auto kernel = load("saxpy");
  Saxpys data = saxpys();
  Work work;
  work.add_application("only");
  data.add_to(work, kernel, 1);
  EXPECT_GT(time_of_original(*resources, std::get<DeviceLaunch>(work.program.front())), Duration{});
  CopyTimer timer(*resources, 1 << 20);
  for (const HostMemory memory : {HostMemory::Pinned, HostMemory::Pageable}) {
    const std::vector<CopyTime> times = timer.measure(Copy::Direction::ToHost, memory, 1 << 20, 2);
    ASSERT_EQ(times.size(), 2u);
    EXPECT_GT(times.front().device, Duration{});
    EXPECT_GE(times.front().host, times.front().device);
  }
}

}  // namespace
}  // namespace gpushare::cuda::test
