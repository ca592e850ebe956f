// SPDX-License-Identifier: Apache-2.0
// Launches that begin without a plan, beside others whose quotas change all the time.
#include <gmock/gmock.h>

#include "core/trace_recorder.hpp"
#include "cuda/cuda_gpu.hpp"
#include "sample_work.hpp"
#include "trace_promises.hpp"

namespace gpushare::cuda::test {
namespace {

/// Lets in every launch of an odd application, or every other one of its; of the others one at a time gets something.
class LetsInOddOnes : public Policy {
 public:
  explicit LetsInOddOnes(std::size_t every) : every_(every) {}
  bool admits(const RunningLaunch& launch, const State& /*state*/) override {
    return index(launch.application) % 2 == 1 && ++asked_ % every_ == 0;
  }
  Plan decide(const State& state) const override {
    Plan plan{.wake_at = state.now() + Duration(50'000)};
    const auto turn = static_cast<std::size_t>(state.now().time_since_epoch().count()) / 50'000;
    const RunningLaunch& chosen = state.running()[turn % state.running().size()];
    plan.shares.push_back(full_share(chosen));
    return plan;
  }

 private:
  std::size_t every_;
  std::size_t asked_ = 0;
};

class AdmittedOnGpu : public OnStandIn, public testing::WithParamInterface<std::size_t> {};

TEST_P(AdmittedOnGpu, EveryBlockOfEverybodyRunsOnce) {
  const auto kernel = load("saxpy");
  std::vector<Saxpys> data;
  Work work;
  for (int application = 0; application < 4; ++application) {
    data.emplace_back(array(Saxpys::input()), array(Saxpys::input()));
    work.add_application(std::to_string(application));
    data.back().add_to(work, kernel, 6);
  }
  LetsInOddOnes policy(GetParam());
  TraceRecorder recorder;
  const std::array<RunObserver*, 1> observers{&recorder};
  {
    CudaGpu gpu(*resources, work.program);
    run(gpu, policy, work.workload, observers);
  }
  const Trace trace = recorder.take();
  gpushare::test::expect_time_moves_forward(trace);
  gpushare::test::expect_streams_in_order(trace, work.workload);
  for (const Saxpys& each : data) EXPECT_EQ(values<float>(each.result(), Saxpys::count), each.expected());
}

INSTANTIATE_TEST_SUITE_P(Every, AdmittedOnGpu, testing::Values(1, 2));

class AdmittedAtGate : public OnStandIn {
 protected:
  AdmittedAtGate() {
    for (const char* name : {"has nothing", "let in"}) {
      work.add_application(name);
      work.add_launch(kernel, 6, 1, arguments(gate.get(), arrived.get(), for_ever));
    }
  }
  Submission submission(int number) const {
    const auto position = static_cast<std::size_t>(number);
    return {.id = static_cast<OperationId>(number),
            .application = static_cast<ApplicationId>(number),
            .operation = &work.workload.applications[position].operations.front()};
  }
  bool all_have_come() { return values<int>(arrived, 1) == std::vector{6}; }

  std::shared_ptr<KernelCode> kernel = load("wait_at_gate", wait_at_gate);
  DeviceMemory gate = array(std::vector{0});
  DeviceMemory arrived = array(std::vector{0});
  Work work;
};

TEST_F(AdmittedAtGate, AloneItRunsUnderPlansThatNameNobody) {
  CudaGpu gpu(*resources, work.program);
  for (int number : {0, 1}) gpu.submit(submission(number));
  gpu.apply({});
  gpu.admit(OperationId{1});
  while (!all_have_come()) static_cast<void>(gpu.next_event(gpu.now() + Duration(1'000'000)));
  EXPECT_THAT(gpu.begun(), testing::ElementsAre(BegunOperation{OperationId{1}, Stage::OnDevice}));
  write(gate, 1);
  bool has_ended = false;
  while (!has_ended) {
    const auto event = gpu.next_event(gpu.now() + Duration(1'000'000));
    has_ended = event && event->kind == EventKind::LaunchEnded;
  }
  EXPECT_TRUE(gpu.stop(Duration(10'000'000'000)));
}

TEST_F(AdmittedAtGate, OneThatWasWithdrawnEndsAllTheSame) {
  CudaGpu gpu(*resources, work.program);
  gpu.submit(submission(1));
  gpu.admit(OperationId{1});
  while (!all_have_come()) static_cast<void>(gpu.next_event(gpu.now() + Duration(1'000'000)));
  gpu.withdraw(OperationId{1});
  write(gate, 1);
  std::optional<gpushare::Event> event;
  while (!event || event->kind != EventKind::LaunchEnded) event = gpu.next_event(gpu.now() + Duration(1'000'000));
  EXPECT_EQ(event->operation, OperationId{1});
  EXPECT_TRUE(gpu.is_idle());
}

}  // namespace
}  // namespace gpushare::cuda::test
