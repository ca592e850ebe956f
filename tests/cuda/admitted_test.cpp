// SPDX-License-Identifier: Apache-2.0
// Launches that begin without a plan, beside others whose quotas change all the time.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include "core/trace/trace_recorder.hpp"
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

long streams_of_gpu() {
  void* library = dlopen(STAND_IN_GPU, RTLD_NOW | RTLD_NOLOAD);
  const auto count = reinterpret_cast<long (*)()>(dlsym(library, "gpushare_stand_in_streams"));
  return count();
}

class ManyAdmitted : public AdmittedAtGate {
 protected:
  static constexpr int launches = 50;
  static constexpr Duration patience{20'000'000'000};

  /// One block each; those from `open` on wait for no gate.
  explicit ManyAdmitted(int open = launches) {
    for (int number = 0; number < launches; ++number) {
      const std::uint64_t patience = number < open ? for_ever : 0;
      many.add_application(std::to_string(number));
      many.add_launch(kernel, 1, 1, arguments(gate.get(), arrived.get(), patience));
    }
  }
  void admit_all() {
    for (int number = 0; number < launches; ++number) {
      gpu().submit({.id = static_cast<OperationId>(number),
                    .application = static_cast<ApplicationId>(number),
                    .operation = &many.workload.applications[static_cast<std::size_t>(number)].operations.front()});
      gpu().admit(static_cast<OperationId>(number));
    }
  }
  CudaGpu& gpu() {
    if (!gpu_) gpu_ = std::make_unique<CudaGpu>(*resources, many.program);
    return *gpu_;
  }
  void look() { last_ = gpu().next_event(gpu().now() + Duration(1'000'000)); }
  void look_until_come(int wanted) {
    const Time deadline = gpu().now() + patience;
    while (values<int>(arrived, 1).front() < wanted && gpu().now() < deadline) look();
    EXPECT_EQ(values<int>(arrived, 1).front(), wanted);
  }
  void look_until_ended(int wanted) {
    const Time deadline = gpu().now() + patience;
    while (ended_ < wanted && gpu().now() < deadline) {
      look();
      if (last_ && last_->kind == EventKind::LaunchEnded) ++ended_;
    }
    EXPECT_EQ(ended_, wanted);
  }

  Work many;

 private:
  std::unique_ptr<CudaGpu> gpu_;
  std::optional<gpushare::Event> last_;
  int ended_ = 0;
};

TEST_F(ManyAdmitted, OnlyTheFirstAreOnTheGpu) {
  admit_all();
  look_until_come(admitted_at_once);
  EXPECT_THAT(gpu().begun(), testing::SizeIs(admitted_at_once));
  constexpr long queues_of_the_hardware = 32;  // where streams share one, a look may wait for a kernel
  EXPECT_LT(streams_of_gpu(), queues_of_the_hardware);
  write(gate, 1);
  look_until_ended(launches);
  EXPECT_EQ(values<int>(arrived, 1), std::vector{launches});
}

TEST_F(ManyAdmitted, WhoWaitsCanBeWithdrawn) {
  admit_all();
  for (int number = admitted_at_once; number < launches; ++number) {
    gpu().withdraw(static_cast<OperationId>(number));
  }
  look_until_ended(launches - admitted_at_once);
  write(gate, 1);
  look_until_ended(launches);
  EXPECT_EQ(values<int>(arrived, 1), std::vector<int>{admitted_at_once});
}

TEST_F(ManyAdmitted, WhoWaitsBeginsWhenAPlanNamesIt) {
  admit_all();
  gpu().apply({.shares = {{OperationId{launches - 1}, Quota::everywhere(1)}}});
  look_until_come(admitted_at_once + 1);
  write(gate, 1);
  look_until_ended(launches);
}

TEST_F(ManyAdmitted, WhoWaitsNeverBeginsWhereAllStop) {
  admit_all();
  look_until_come(admitted_at_once);
  write(gate, 1);
  EXPECT_TRUE(gpu().stop(Duration(10'000'000'000)));
  EXPECT_EQ(values<int>(arrived, 1), std::vector<int>{admitted_at_once});
}

class ManyBesideOneThatStays : public ManyAdmitted {
 protected:
  ManyBesideOneThatStays() : ManyAdmitted(1) {}
};

TEST_F(ManyBesideOneThatStays, TheOthersDoNotWaitForIt) {
  admit_all();
  look_until_ended(launches - 1);
  write(gate, 1);
  look_until_ended(launches);
}

/// Of two launches in a row the second has been put behind the first when that ends.
TEST_F(AdmittedAtGate, OneThatWasPutBehindAnotherGoesOn) {
  // Only where some blocks have ended may another launch be put behind theirs: here the first does at once.
  const std::string loop = "again:";
  std::string source = wait_at_gate;
  source.replace(source.find(loop), loop.size(), "mov.u32 %r1, %ctaid.x;setp.eq.u32 %p, %r1, 0;@%p ret;" + loop);
  const auto leads = load("wait_at_gate", source);
  Work chain;
  chain.add_application("chain");
  for (int launch = 0; launch < 2; ++launch) {
    chain.add_launch(leads, 6, 1, arguments(gate.get(), arrived.get(), for_ever));
  }
  for (Slot taken = 2; taken < WorkerTables::usual_slots; ++taken) resources->tables.take();
  CudaGpu gpu(*resources, chain.program);
  const std::vector<Operation>& operations = chain.workload.applications.front().operations;
  const Submission second{.id = OperationId{1}, .application = ApplicationId{0}, .operation = &operations[1]};
  gpu.submit({.id = OperationId{0}, .application = ApplicationId{0}, .operation = &operations[0]});
  gpu.announce(second);
  gpu.apply({.shares = {{OperationId{0}, Quota::everywhere(4)}}});
  while (!resources->tables.is_full()) static_cast<void>(gpu.next_event(gpu.now() + Duration(1'000'000)));
  write(gate, 1);
  int ended = 0;
  while (ended < 2) {
    const auto event = gpu.next_event(gpu.now() + Duration(1'000'000));
    if (!event || event->kind != EventKind::LaunchEnded) continue;
    if (++ended == 2) break;
    gpu.submit(second);
    gpu.admit(OperationId{1});
    gpu.apply({});
  }
  EXPECT_EQ(values<int>(arrived, 1), std::vector{12});
}

/// An admitted launch that stays has the SM that is kept, and the others have all the rest with blocks that end.
TEST_F(AdmittedAtGate, WhoIsPlannedForGetsRoomBesideOneThatStays) {
  const DeviceMemory begun = array(std::vector{0});
  const DeviceMemory others = array(std::vector{0});
  const Device& device = context->description();
  const auto sms = static_cast<std::size_t>(device.sms);
  Work work;
  work.add_application("others");
  work.add_launch(kernel, 10'000'000, 1, arguments(gate.get(), others.get(), std::uint64_t{1000}));
  work.add_application("stays");
  const int residency =
      max_residency(device, std::get<Launch>(work.workload.applications[0].operations[0]).kernel.needs);
  work.add_launch(kernel, static_cast<unsigned>(residency), 1, arguments(gate.get(), arrived.get(), for_ever));
  work.add_application("comes");
  work.add_launch(kernel, 1, 1, arguments(gate.get(), begun.get(), std::uint64_t{0}));
  CudaGpu gpu(*resources, work.program);
  const auto submit = [&](int number) {
    gpu.submit({.id = static_cast<OperationId>(number),
                .application = static_cast<ApplicationId>(number),
                .operation = &work.workload.applications[static_cast<std::size_t>(number)].operations[0]});
  };
  std::vector<int> all_but_the_last(sms, residency);
  all_but_the_last.back() = 0;
  const Share rest{OperationId{0}, Quota::per_sm(all_but_the_last)};
  submit(0);
  gpu.apply({.shares = {rest}});
  const int under_way = 3000;  // no worker is asked for any more
  while (values<int>(others, 1).front() < under_way) static_cast<void>(gpu.next_event(gpu.now() + Duration(1'000'000)));
  submit(1);
  gpu.admit(OperationId{1});
  while (values<int>(arrived, 1).front() < residency)
    static_cast<void>(gpu.next_event(gpu.now() + Duration(1'000'000)));
  submit(2);
  gpu.apply({.shares = {{OperationId{2}, Quota::everywhere(residency)}, rest}});
  const Time patience = gpu.now() + Duration(5'000'000'000);
  while (values<int>(begun, 1).front() == 0 && gpu.now() < patience) {
    static_cast<void>(gpu.next_event(gpu.now() + Duration(1'000'000)));
  }
  EXPECT_EQ(values<int>(begun, 1), std::vector{1});
  write(gate, 1);
  EXPECT_TRUE(gpu.stop(Duration(20'000'000'000)));
}

}  // namespace
}  // namespace gpushare::cuda::test
