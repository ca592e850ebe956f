// SPDX-License-Identifier: Apache-2.0
// Runs under every policy, and their ends. tests/py/gpu has more; these also run under sanitizers.
#include "cuda/cuda_gpu.hpp"
#include "core/trace/trace_recorder.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "core/policies/registry.hpp"
#include "core/policy_support/options.hpp"
#include "sample_work.hpp"
#include "trace_promises.hpp"

namespace gpushare::cuda::test {
namespace {

class Runs : public OnStandIn {
 protected:
  Saxpys saxpys() { return {array(Saxpys::input()), array(Saxpys::input())}; }

  Trace run_under(Policy& policy, const Work& work, RunObserver* another = nullptr) {
    TraceRecorder recorder;
    std::vector<RunObserver*> observers{&recorder};
    if (another != nullptr) observers.push_back(another);
    CudaGpu gpu(*resources, work.program);
    run(gpu, policy, work.workload, observers);
    return recorder.take();
  }
};

class UnderEveryPolicy : public Runs, public testing::WithParamInterface<PolicyEntry> {};

/// Also where launches need not be preemptible once it is known how short they are.
TEST_P(UnderEveryPolicy, ResultsAreRightAndTimeMovesForward) {
  const auto kernel = load("saxpy");
  const std::string name(GetParam().name);
  for (const std::string& named : {name, name + ":whole_up_to_ns=1e9", name + ":whole_up_to_ns=1e9"}) {
    Saxpys first = saxpys();
    Saxpys second = saxpys();
    Work work;
    work.add_application("first");
    first.add_to(work, kernel, 3);
    work.add_application("second", 300'000);
    second.add_to(work, kernel, 2);
    const std::unique_ptr<Policy> policy = make_policy(named);
    const Trace trace = run_under(*policy, work);
    gpushare::test::expect_time_moves_forward(trace);
    gpushare::test::expect_streams_in_order(trace, work.workload);
    EXPECT_EQ(values<float>(first.result(), Saxpys::count), first.expected());
    EXPECT_EQ(values<float>(second.result(), Saxpys::count), second.expected());
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, UnderEveryPolicy, testing::ValuesIn(policies().begin(), policies().end()),
                         [](const auto& each) {
                           std::string name(each.param.name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

/// Other quotas every 100 us, on every SM; every fourth time full ones, so that all end.
class Changes : public Policy {
 public:
  Plan decide(const State& state) const override {
    Plan plan{.wake_at = state.now() + Duration(100'000)};
    const auto turn = static_cast<std::uint64_t>(state.now().time_since_epoch().count()) / 100'000;
    for (const RunningLaunch& launch : state.running()) {
      if (turn % 4 == 0) {
        plan.shares.push_back(full_share(launch));
        continue;
      }
      std::vector<int> quotas;
      for (int sm = 0; sm < state.device().sms; ++sm) {
        const std::uint64_t mixed =
            (turn * 31 + static_cast<std::uint64_t>(sm) + index(launch.id)) * 0x9e3779b97f4a7c15;
        quotas.push_back(static_cast<int>((mixed >> 40) % static_cast<unsigned>(launch.max_residency + 1)));
      }
      plan.shares.push_back({launch.id, Quota::per_sm(std::move(quotas))});
    }
    return plan;
  }
};

TEST_F(Runs, UnderChangingQuotasEveryBlockRunsOnce) {
  const auto kernel = load("saxpy");
  Saxpys data = saxpys();
  Saxpys other = saxpys();
  Work work;
  work.add_application("first");
  data.add_to(work, kernel, 8);
  work.add_application("second");
  other.add_to(work, kernel, 8);
  Changes policy;
  const Trace trace = run_under(policy, work);
  EXPECT_EQ(values<float>(data.result(), Saxpys::count), data.expected());
  EXPECT_EQ(values<float>(other.result(), Saxpys::count), other.expected());
  std::int64_t ended = 0;
  for (const gpushare::Event& event : trace.events) {
    if (event.kind == EventKind::BlockEnded) ended += event.blocks;
  }
  EXPECT_EQ(ended, 16 * Saxpys::blocks);
}

TEST_F(Runs, OneAtATime) {
  const Program none;
  const CudaGpu first(*resources, none);
  EXPECT_THROW(CudaGpu(*resources, none), InvalidInput);
}

/// Writes where nothing is.
const std::string fault = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry fault(.param .u64 nowhere)
{
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [nowhere];
  st.global.u64 [%rd1], %rd1;
  ret;
}
)";

class Gated : public Runs {
 protected:
  Gated() : kernel(load("wait_at_gate", wait_at_gate)), gate(array(std::vector{0})), arrived(array(std::vector{0})) {
    work.add_application("waits");
    work.add_launch(kernel, 6, 1, arguments(gate.get(), arrived.get(), for_ever));
  }
  void open_gate() { write(gate, 1); }

  void submit_first(CudaGpu& gpu) {
    const Operation& launch = work.workload.applications.front().operations.front();
    gpu.submit({.id = OperationId{0}, .application = ApplicationId{0}, .operation = &launch});
    gpu.apply({.shares = {{OperationId{0}, Quota::everywhere(4)}}});
  }

  std::shared_ptr<KernelCode> kernel;
  DeviceMemory gate, arrived;
  Work work;
};

TEST_F(Gated, AnotherThreadWakesTheRunAndWritesWhatAKernelReads) {
  CudaGpu gpu(*resources, work.program);
  const std::unique_ptr<Policy> policy = make_policy("fifo");
  std::thread other([&] {
    for (int time = 0; time < 20; ++time) gpu.wake();
    open_gate();
    for (int time = 0; time < 20; ++time) gpu.wake();
  });
  // As a session does it: next_event() returns nothing after wake(), and the run goes on.
  submit_first(gpu);
  bool ended = false;
  while (!ended) {
    const auto event = gpu.next_event(gpu.now() + Duration(1'000'000));
    ended = event && event->kind == EventKind::LaunchEnded;
  }
  other.join();
  EXPECT_EQ(values<int>(arrived, 1), std::vector{6});
}

TEST_F(Gated, WhatDoesNotEndIsAbandoned) {
  const auto lose_the_gpu = [&] {
    {
      CudaGpu gpu(*resources, work.program);
      submit_first(gpu);
      // Told to leave before they begin, workers would.
      while (values<int>(arrived, 1) == std::vector{0}) {
        static_cast<void>(gpu.next_event(gpu.now() + Duration(1'000'000)));
      }
      const std::vector<BegunOperation> endless{{OperationId{0}, Stage::OnDevice}};
      EXPECT_EQ(gpu.begun(), endless);
      EXPECT_FALSE(gpu.stop(Duration(20'000'000)));
      EXPECT_EQ(gpu.begun(), endless);
    }
    EXPECT_TRUE(context->is_lost());
    resources.reset();
    std::exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(lose_the_gpu(), testing::ExitedWithCode(0), "");
}

/// The first block ends at once: only where some have may another launch be put behind theirs.
std::string wait_but_the_first() {
  const std::string loop = "again:";
  std::string kernel = wait_at_gate;
  return kernel.replace(kernel.find(loop), loop.size(), "mov.u32 %r1, %ctaid.x;setp.eq.u32 %p, %r1, 0;@%p ret;" + loop);
}

TEST_F(Gated, WhatWaitsBehindAnotherHasNotBegunWhenAllIsStopped) {
  const auto leads = load("wait_at_gate", wait_but_the_first());
  Work chain;
  chain.add_application("leads");
  for (int launch = 0; launch < 2; ++launch) {
    chain.add_launch(leads, 6, 1, arguments(gate.get(), arrived.get(), for_ever));
  }
  const auto lose_the_gpu = [&] {
    for (Slot taken = 2; taken < WorkerTables::usual_slots; ++taken) resources->tables.take();
    {
      CudaGpu gpu(*resources, chain.program);
      const std::vector<Operation>& operations = chain.workload.applications.front().operations;
      gpu.submit({.id = OperationId{0}, .application = ApplicationId{0}, .operation = &operations[0]});
      gpu.announce({.id = OperationId{1}, .application = ApplicationId{0}, .operation = &operations[1]});
      gpu.apply({.shares = {{OperationId{0}, Quota::everywhere(4)}}});
      // Each has a place in the tables.
      while (!resources->tables.is_full()) static_cast<void>(gpu.next_event(gpu.now() + Duration(1'000'000)));
      const std::vector<BegunOperation> leader{{OperationId{0}, Stage::OnDevice}};
      EXPECT_EQ(gpu.begun(), leader);
      EXPECT_FALSE(gpu.stop(Duration(20'000'000)));
      EXPECT_EQ(gpu.begun(), leader);
    }
    resources.reset();
    std::exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(lose_the_gpu(), testing::ExitedWithCode(0), "");
}

/// Neither the launch before it nor the one behind it, which may have been handed to the hardware, too.
TEST_F(Runs, AFaultHasAnOwnerAndIsForGood) {
  const auto kernel = load("fault", fault);
  const auto others = load("saxpy");
  Saxpys before = saxpys();
  Saxpys behind = saxpys();
  Work work;
  work.add_application("wild");
  before.add_to(work, others, 4);
  work.add_launch(kernel, 1, 1, arguments(std::uint64_t{0x10}));
  behind.add_to(work, others, 4);
  const auto lose_the_gpu = [&](const char* policy_name) {
    {
      const std::unique_ptr<Policy> policy = make_policy(policy_name);
      CudaGpu gpu(*resources, work.program);
      EXPECT_THROW(run(gpu, *policy, work.workload), CudaError);
      EXPECT_THAT(gpu.begun(), testing::Contains(BegunOperation{OperationId{4}, Stage::OnDevice}));
      EXPECT_THAT(gpu.begun(),
                  testing::Not(testing::Contains(testing::Field(&BegunOperation::id, testing::Gt(OperationId{4})))));
      EXPECT_THAT(gpu.begun(), testing::Not(testing::Contains(BegunOperation{OperationId{3}, Stage::OnDevice})));
    }
    EXPECT_THROW(resources->completions.require_healthy(), CudaError);
    context->abandon();
    std::exit(HasFailure() ? 1 : 0);
  };
  for (const char* policy : {"fifo", "fifo:whole_up_to_ns=1e9", "even"}) {
    EXPECT_EXIT(lose_the_gpu(policy), testing::ExitedWithCode(0), "");
  }
}

/// What the driver refuses concerns one launch: the others must not go on with memory that is about to go.
TEST_F(Runs, WhatRanBesideALaunchThatWasRefusedIsStoppedAndTheGpuIsAsGoodAsBefore) {
  const auto kernel = load("wait_at_gate", wait_at_gate);
  const auto others = load("saxpy");
  const DeviceMemory gate = array(std::vector{0});
  const DeviceMemory arrived = array(std::vector{0});
  constexpr int blocks = 1000;
  Saxpys refused = saxpys();
  Work work;
  work.add_application("waits");
  work.add_launch(kernel, blocks, 1, arguments(gate.get(), arrived.get(), some_ms));
  work.add_application("refused", 2'000'000);
  refused.add_to(work, others, 1);
  std::get<DeviceLaunch>(work.program.back()).shared_bytes = 60'000;
  {
    const std::unique_ptr<Policy> policy = make_policy("even");
    CudaGpu gpu(*resources, work.program);
    EXPECT_THROW(run(gpu, *policy, work.workload), CudaError);
    EXPECT_TRUE(gpu.stop(Duration(10'000'000'000)));
  }
  forget_misuse();
  const std::vector<int> begun = values<int>(arrived, 1);
  EXPECT_LT(begun.front(), blocks);
  Saxpys next = saxpys();
  Work more;
  more.add_application("next");
  next.add_to(more, others, 3);
  const std::unique_ptr<Policy> policy = make_policy("fifo");
  run_under(*policy, more);
  EXPECT_EQ(values<float>(next.result(), Saxpys::count), next.expected());
  EXPECT_EQ(values<int>(arrived, 1), begun);
  EXPECT_FALSE(context->is_lost());
}

/// A policy that fails leaves nothing behind: what was under way has ended before its memory goes.
TEST_F(Gated, ARunThatIsGivenUpLeavesNothing) {
  open_gate();
  for (int time = 0; time < 10; ++time) {
    {
      CudaGpu gpu(*resources, work.program);
      submit_first(gpu);
      static_cast<void>(gpu.next_event(gpu.now() + Duration(time * 100'000)));
      EXPECT_TRUE(gpu.stop(Duration(10'000'000'000)));
    }
    resources = std::make_unique<GpuResources>(context);  // the memory of the ones before goes
    EXPECT_NO_THROW(resources->completions.require_healthy());
  }
}

}  // namespace
}  // namespace gpushare::cuda::test
