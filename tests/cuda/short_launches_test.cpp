// SPDX-License-Identifier: Apache-2.0
// Launches that are over too soon to be worth preempting run as they were written, on the SMs that the policy gives.
#include "cuda/launch/grids.hpp"
#include "cuda/launch/launch_factory.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <set>

#include "cuda/driver/driver.hpp"
#include "cuda/launch/sm_groups.hpp"
#include "telling_launches.hpp"
#include "trace_promises.hpp"

namespace gpushare::cuda::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::IsEmpty;
using testing::Le;

constexpr SmId sm(int number) { return static_cast<SmId>(number); }

std::vector<SmId> sms_in(unsigned bits) {
  std::vector<SmId> sms;
  for (int number = 0; number < 4; ++number) {
    if ((bits >> number & 1) != 0) sms.push_back(sm(number));
  }
  return sms;
}

class ShortLaunches : public TellingLaunches {
 protected:
  /// Asks until it has been made.
  std::optional<OriginalSetup> way_for(const std::shared_ptr<KernelCode>& code, const std::vector<SmId>& sms) {
    for (int time = 0; time < 10; ++time) resources->partitions.find(code, sms, Duration(1));
    resources->partitions.wait_ready();
    return resources->partitions.find(code, sms, Duration(1));
  }
};

TEST_F(ShortLaunches, TheHardwaresGroupsAreFoundOut) {
  const CurrentContext current(*context);
  const SmGroups groups(context);
  EXPECT_THAT(groups.within({sm(0), sm(1)}).sms, ElementsAre(sm(0), sm(1)));
  EXPECT_THAT(groups.within({sm(0), sm(2), sm(3)}).sms, ElementsAre(sm(2), sm(3)));
  EXPECT_THAT(groups.within({sm(1), sm(2)}).sms, IsEmpty());
  EXPECT_EQ(groups.within({sm(0), sm(1), sm(2), sm(3)}).groups.size(), 2u);
}

TEST_F(ShortLaunches, ModelOfTheGpuSaysWhatIsBriefAndWhatAPartitionIsWorth) {
  Device model = context->description();
  model.runtime.brief_launch = Duration(7);
  model.runtime.partition_worth = 1000 * worth;
  resources->know_as(model);
  EXPECT_EQ(resources->mode_limits.brief, Duration(7));
  EXPECT_FALSE(way_for(kernel, {sm(2), sm(3)}));
  model.runtime.partition_worth = worth;
  resources->know_as(model);
  EXPECT_TRUE(way_for(kernel, {sm(2), sm(3)}));
}

TEST_F(ShortLaunches, AKernelRunsInAPartitionOnceThatIsReady) {
  EXPECT_FALSE(resources->partitions.find(kernel, {sm(2), sm(3)}, worth / 2));
  const std::optional<OriginalSetup> way = way_for(kernel, {sm(2), sm(3)});
  ASSERT_TRUE(way);
  EXPECT_THAT(way->sms, ElementsAre(sm(2), sm(3)));
  const DeviceMemory where = array(std::vector<int>(blocks, -1));
  const DeviceLaunch launch{
      .kernel = kernel, .grid = {blocks, 1, 1}, .block = {32, 1, 1}, .arguments = arguments(where.get())};
  const MarkedStream taken = way->streams->take(0);
  launch_grid(way->function, launch.grid, launch, {}, taken.stream.get());
  drain(taken.stream);
  EXPECT_THAT(values<int>(where, blocks), Each(AnyOf(2, 3)));
}

TEST_F(ShortLaunches, ALaterLaunchMayWantMoreSharedMemoryInAPartition) {
  const std::optional<OriginalSetup> way = way_for(kernel, {sm(2), sm(3)});
  ASSERT_TRUE(way);
  constexpr unsigned more = 60'000;
  EXPECT_GT(kernel->needs({32, 1, 1}, more).shared_memory.count, more);
  const DeviceMemory where = array(std::vector<int>(blocks, -1));
  const DeviceLaunch launch{.kernel = kernel,
                            .grid = {blocks, 1, 1},
                            .block = {32, 1, 1},
                            .shared_bytes = more,
                            .arguments = arguments(where.get())};
  const MarkedStream taken = way->streams->take(0);
  launch_grid(way->function, launch.grid, launch, {}, taken.stream.get());
  drain(taken.stream);
  EXPECT_THAT(values<int>(where, blocks), Each(AnyOf(2, 3)));
}

TEST_F(ShortLaunches, APartitionIsMadeOnceItIsWantedForLongEnough) {
  for (Duration wanted(1); wanted < 3 * worth; wanted += Duration(1)) {
    EXPECT_FALSE(resources->partitions.find(kernel, {sm(2), sm(3)}, Duration(1)));
  }
  resources->partitions.wait_ready();
  EXPECT_FALSE(resources->partitions.find(kernel, {sm(2), sm(3)}, Duration(1)));
  resources->partitions.wait_ready();
  EXPECT_TRUE(resources->partitions.find(kernel, {sm(2), sm(3)}, Duration(1)));
}

TEST_F(ShortLaunches, WhatIsWantedNearlyAsLongIsMadeInTheSameMoment) {
  const std::shared_ptr<KernelCode> another = load_kernel();
  EXPECT_FALSE(resources->partitions.find(another, {sm(0), sm(1)}, 2 * worth));
  EXPECT_FALSE(resources->partitions.find(kernel, {sm(2), sm(3)}, 3 * worth));
  resources->partitions.wait_ready();
  EXPECT_TRUE(resources->partitions.find(another, {sm(0), sm(1)}, Duration(1)));
}

TEST_F(ShortLaunches, PartsOfADivisionThatWasGivenUpDoNotJoin) {
  const std::vector<SmId> all{sm(0), sm(1), sm(2), sm(3)};
  EXPECT_FALSE(resources->partitions.find(kernel, all, 2 * worth));
  EXPECT_FALSE(resources->partitions.find(kernel, {sm(2), sm(3)}, 3 * worth));
  resources->partitions.wait_ready();
  EXPECT_FALSE(resources->partitions.find(kernel, all, worth / 2));
  EXPECT_TRUE(resources->partitions.find(kernel, {sm(2), sm(3)}, Duration(1)));
}

TEST_F(ShortLaunches, WhatTheHardwareCannotKeepApartIsNeverReady) { EXPECT_FALSE(way_for(kernel, {sm(1), sm(2)})); }

TEST_F(ShortLaunches, KernelsThatAreGoneLeaveTheirPartitions) {
  for (int time = 0; time < 20; ++time) {
    const auto code = load_kernel();
    ASSERT_TRUE(way_for(code, {sm(0), sm(1)}));
    ASSERT_TRUE(way_for(code, {sm(2), sm(3)}));
  }
}

TEST_F(ShortLaunches, APartitionThatOthersReplacedIsMadeAgain) {
  ASSERT_TRUE(way_for(kernel, {sm(0), sm(1)}));
  for (unsigned sms = 4; sms < 16; ++sms) resources->partitions.find(kernel, sms_in(sms), Duration(1));
  EXPECT_FALSE(resources->partitions.find(kernel, {sm(0), sm(1)}, Duration(1)));
  EXPECT_TRUE(way_for(kernel, {sm(0), sm(1)}));
}

TEST_F(ShortLaunches, RunWholeWhereAPolicyGivesTheWholeGpu) {
  add_application("only", 6);
  run_under("fifo");
  EXPECT_THAT(whole_launches(), IsEmpty());
  const Trace trace = run_under("fifo:whole_up_to_ns=1e9");
  EXPECT_EQ(whole_launches().size(), 6u);  // the run before has shown how short they are
  gpushare::test::expect_time_moves_forward(trace);
  gpushare::test::expect_streams_in_order(trace, work.workload);
}

/// Everything to all; launches may be left whole, and may have to leave the rest of their SMs to others.
class FullShares : public Policy {
 public:
  explicit FullShares(bool leaves_rest) : leaves_rest_(leaves_rest) {}
  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) {
      plan.shares.push_back(full_share(launch));
      plan.shares.back().whole_up_to = std::chrono::seconds(1);
      plan.shares.back().leaves_rest = leaves_rest_;
    }
    return plan;
  }

 private:
  bool leaves_rest_;
};

TEST_F(ShortLaunches, AreWorkersWhereTheyLeaveTheRestToOthers) {
  add_application("only", 6);
  run_under("fifo");
  FullShares leaving(true);
  run_under(leaving);
  EXPECT_THAT(whole_launches(), IsEmpty());
  FullShares keeping(false);
  run_under(keeping);
  EXPECT_EQ(whole_launches().size(), 6u);
}

TEST_F(ShortLaunches, AreWorkersWhereThatIsFaster) {
  let_win(ExecutionMode::Worker);
  add_application("only", 6);
  run_under("fifo");
  run_under("fifo:whole_up_to_ns=1e9");
  EXPECT_THAT(whole_launches(), IsEmpty());
}

TEST_F(ShortLaunches, ByThemselvesDoNotShowWhichWayIsFaster) {
  constexpr double never = std::numeric_limits<double>::infinity();
  resources->history = KernelHistory(never, never);  // workers would win as soon as both ways have been timed
  add_application("only", 1);
  for (int time = 0; time < 5; ++time) run_under("fifo");
  for (int time = 0; time < 10; ++time) {
    run_under("fifo:whole_up_to_ns=1e9");
    EXPECT_EQ(whole_launches().size(), 1u);
  }
}

TEST_F(ShortLaunches, BothWaysAreTried) {
  resources->history = KernelHistory();
  add_application("only", 6);
  run_under("fifo");
  EXPECT_TRUE(resources->history.original_may_be_faster(kernel->id(), 4, true));
  run_under("fifo:whole_up_to_ns=1e9");
  EXPECT_GE(whole_launches().size(), 2u);
}

TEST_F(ShortLaunches, StayOnTheSmsOfTheirApplication) {
  add_application("first", 30);
  add_application("second", 30);
  run_under("even");
  run_under("even:whole_up_to_ns=1e9");  // asks for partitions
  resources->partitions.wait_ready();
  const Trace trace = run_under("even:whole_up_to_ns=1e9");
  gpushare::test::expect_streams_in_order(trace, work.workload);
  // Together they have halves; who is alone has all.
  const std::set<int> all{0, 1, 2, 3};
  for (const std::size_t application : {0u, 1u}) {
    const std::vector<std::set<int>> whole = whole_launches(application);
    EXPECT_FALSE(whole.empty());
    const std::set<int> half = application == 0 ? std::set{0, 1} : std::set{2, 3};
    EXPECT_THAT(whole, Each(AnyOf(half, all)));
  }
  EXPECT_THAT(whole_launches(0), Contains(std::set{0, 1}));
}

/// The whole GPU at first, half of it from the fifth launch on.
class Retreating : public Policy {
 public:
  void observe(const gpushare::Event& event, const State& /*state*/) override {
    if (event.kind == EventKind::LaunchArrived) ++launches_;
  }
  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) {
      const int residency = launch.max_residency;
      const Quota half = Quota::per_sm({0, 0, residency, residency});
      plan.shares.push_back({.launch = launch.id,
                             .quota = launches_ < 5 ? Quota::everywhere(residency) : half,
                             .whole_up_to = Duration(1'000'000'000)});
    }
    return plan;
  }

 private:
  int launches_ = 0;
};

TEST_F(ShortLaunches, GoWhereThePolicyWantsThemThoughTheyFollowEachOther) {
  add_application("only", 20);
  run_under("fifo");
  CudaGpu gpu(*resources, work.program);
  Retreating policy;
  run(gpu, policy, work.workload, {});
  EXPECT_THAT(whole_launches(), Contains(std::set{0, 1, 2, 3}));
  for (std::size_t launch = 10; launch < 20; ++launch) {
    const std::vector<int> seen = values<int>(places[0][launch], blocks);
    EXPECT_THAT(seen, Each(AnyOf(2, 3, of_worker + 2, of_worker + 3))) << launch;
  }
}

/// All to each, the first application before the others, and its launches alone may be left whole.
class FirstWhole : public Policy {
 public:
  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) {
      const bool is_first = launch.application == ApplicationId{0};
      Share share = full_share(launch);
      share.whole_up_to = Duration(is_first ? 1'000'000'000 : 0);
      plan.shares.insert(is_first ? plan.shares.begin() : plan.shares.end(), share);
    }
    return plan;
  }
};

TEST_F(ShortLaunches, OfOneApplicationCanBeLeftWholeWhileOthersStayPreemptible) {
  add_application("first", 6);
  add_application("second", 6);
  run_under("fifo");
  CudaGpu gpu(*resources, work.program);
  FirstWhole policy;
  run(gpu, policy, work.workload, {});
  EXPECT_EQ(whole_launches(0).size(), 6u);
  EXPECT_THAT(whole_launches(1), IsEmpty());
}

TEST_F(ShortLaunches, ArePreemptibleIfTheyTakeLonger) {
  add_application("only", 4);
  run_under("fifo");
  run_under("fifo:whole_up_to_ns=1");
  EXPECT_THAT(whole_launches(), IsEmpty());
}

TEST_F(ShortLaunches, OfKernelsWithoutWorkerAreQueuedBehindOneAnother) {
  const auto waits = load("wait_at_gate", wait_at_gate, false);
  const DeviceMemory gate = array(std::vector{0});
  const DeviceMemory arrived = array(std::vector{0});
  work.add_application("only");
  for (int launch = 0; launch < 2; ++launch) {
    work.add_launch(waits, 4, 1, arguments(gate.get(), arrived.get(), std::uint64_t{10'000'000'000}));
  }
  LaunchFactory factory(*resources, work.program);
  const auto submission = [&](int number) {
    const auto& operations = work.workload.applications.front().operations;
    return Submission{.id = OperationId{number}, .operation = &operations[static_cast<std::size_t>(number)]};
  };
  std::vector<gpushare::Event> events;
  std::unique_ptr<GpuLaunch> launch = factory.make(submission(0));
  launch->set_share({.quota = Quota::everywhere(launch->traits().max_residency), .whole_up_to = Duration(1'000'000)},
                    0);
  EXPECT_FALSE(factory.in_better_mode(*launch));  // how long it takes is not known
  resources->history.set_block_time(waits->id(), Duration(1'000));
  auto with_limit = factory.in_better_mode(*launch);
  ASSERT_TRUE(with_limit);
  with_limit->set_share(launch->share());
  with_limit->grant({}, Time{});
  with_limit->hand_to_hardware(0, Time(Duration(1)));
  with_limit->collect(Time(Duration(2)), events);
  ASSERT_TRUE(with_limit->accepts_successor());
  with_limit->queue_successor(submission(1), Time(Duration(3)));
  ASSERT_NE(with_limit->successor(), nullptr);
  write(gate, 1);
  while (!with_limit->has_ended()) with_limit->collect(Time(Duration(10'000)), events);
  const auto next = with_limit->take_successor(Time(Duration(10'000)));
  while (!next->has_ended()) next->collect(Time(Duration(20'000)), events);
  EXPECT_EQ(values<int>(arrived, 1), std::vector{8});
  EXPECT_GT(*resources->history.block_time(waits->id()), Duration(1'000));
}

TEST_F(ShortLaunches, TimeInWhichOthersHaveASharePutsOffTheVerdictThatOneTakesTooLong) {
  const auto waits = load("wait_at_gate", wait_at_gate, false);
  const DeviceMemory gate = array(std::vector{0});
  const DeviceMemory arrived = array(std::vector{0});
  work.add_application("only");
  work.add_launch(waits, 4, 1, arguments(gate.get(), arrived.get(), std::uint64_t{10'000'000'000}));
  LaunchFactory factory(*resources, work.program);
  resources->history.set_block_time(waits->id(), Duration(1'000));
  const auto& operation = work.workload.applications.front().operations.front();
  std::vector<gpushare::Event> events;
  std::unique_ptr<GpuLaunch> launch = factory.make({.id = OperationId{0}, .operation = &operation});
  launch->set_share({.quota = Quota::everywhere(launch->traits().max_residency), .whole_up_to = Duration(1'000'000)},
                    0);
  auto original = factory.in_better_mode(*launch);
  ASSERT_TRUE(original);
  original->set_share(launch->share());
  original->grant({}, Time{});
  original->hand_to_hardware(0, Time{});
  original->shared_by(2);
  original->shared_by(1);  // the other one has ended
  original->collect(Time(Duration(1'900'000)), events);
  EXPECT_TRUE(original->accepts_successor());
  original->collect(Time(Duration(2'100'000)), events);
  EXPECT_FALSE(original->accepts_successor());
  write(gate, 1);
  while (!original->has_ended()) original->collect(Time(Duration(2'200'000)), events);
}

TEST_F(ShortLaunches, OneThatTookTooLongIsFollowedByPreemptibleOnes) {
  add_application("only", 20);
  run_under("fifo");
  resources->history.set_block_time(kernel->id(), Duration(1));  // which is not so
  run_under("fifo:whole_up_to_ns=1000");
  EXPECT_THAT(whole_launches().size(), AllOf(Ge(1u), Le(10u)));  // some may have stood behind it
}

}  // namespace
}  // namespace gpushare::cuda::test
