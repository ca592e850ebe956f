// SPDX-License-Identifier: Apache-2.0
#include "core/engine/dispatcher.hpp"

#include <gtest/gtest.h>

#include "core/policies/registry.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

/// Does nothing but count.
class IdleGpu : public Gpu {
 public:
  const Device& device() const override { return device_; }
  void submit(const Submission& /*submission*/) override {}
  void apply(const Plan& plan) override {
    ++plans_;
    latest_ = plan;
  }
  void admit(OperationId launch) override { admitted_.push_back(launch); }
  void withdraw(OperationId /*operation*/) override {}
  std::optional<Event> next_event(std::optional<Time> /*deadline*/) override { return std::nullopt; }

  int plans() const { return plans_; }
  const Plan& latest() const { return latest_; }
  const std::vector<OperationId>& admitted() const { return admitted_; }

 private:
  Device device_ = small_device(2);
  Plan latest_;
  std::vector<OperationId> admitted_;
  int plans_ = 0;
};

Event arrival(int number, bool next_is_known) {
  return {.application = static_cast<ApplicationId>(number),
          .operation = static_cast<OperationId>(number),
          .kind = EventKind::LaunchArrived,
          .next_is_known = next_is_known};
}

class DispatcherOfTwo : public testing::Test {
 protected:
  void deliver_arrivals(bool second_is_known) {
    dispatcher_.deliver(EventKind::ApplicationArrived, ApplicationId{0});
    dispatcher_.deliver(EventKind::ApplicationArrived, ApplicationId{1});
    dispatcher_.deliver(arrival(0, second_is_known));
    dispatcher_.deliver(arrival(1, false));
  }

  Workload workload_ = workload_of({launch_of(4, 10), launch_of(4, 10)});
  IdleGpu gpu_;
  std::unique_ptr<Policy> policy_ = make_policy("fifo");
  Dispatcher dispatcher_{gpu_, *policy_, State(gpu_.device(), workload_), {}};
};

TEST_F(DispatcherOfTwo, AsksForAPlanAfterEveryEventThatWantsOne) {
  deliver_arrivals(false);
  EXPECT_EQ(gpu_.plans(), 2);
}

TEST_F(DispatcherOfTwo, AsksOnceForWhatTheDeviceKnowsAlready) {
  deliver_arrivals(true);
  EXPECT_EQ(gpu_.plans(), 1);
  EXPECT_EQ(gpu_.latest().shares.size(), 2U);
}

TEST_F(DispatcherOfTwo, WhatWasWantedIsNotForgottenBecauseTheLastEventWantsNothing) {
  dispatcher_.deliver(EventKind::ApplicationArrived, ApplicationId{0});
  dispatcher_.deliver(arrival(0, true));
  EXPECT_EQ(gpu_.plans(), 0);
  dispatcher_.deliver({.application = ApplicationId{0}, .operation = OperationId{0}, .kind = EventKind::BlockStarted});
  EXPECT_EQ(gpu_.plans(), 1);
}

/// Wants to be woken at a time of its own until it has been, and says when it heard of what.
class WakesOnce : public Policy {
 public:
  void observe(const Event& event, const State& /*state*/) override {
    heard_.emplace_back(event.kind, event.time);
    has_woken_ |= event.kind == EventKind::DeadlineReached;
  }
  Plan decide(const State& state) const override {
    Plan plan{.shares = {full_share(state.running().front())}};
    if (!has_woken_) plan.wake_at = at(50);
    return plan;
  }

  const auto& heard() const { return heard_; }

 private:
  std::vector<std::pair<EventKind, Time>> heard_;
  bool has_woken_ = false;
};

TEST(Dispatcher, WakesThePolicyBeforeItHearsOfAnythingLater) {
  const Workload workload = workload_of({launch_of(4, 10), launch_of(4, 10)});
  IdleGpu gpu;
  WakesOnce policy;
  Dispatcher dispatcher(gpu, policy, State(gpu.device(), workload), {});
  dispatcher.deliver(EventKind::ApplicationArrived, ApplicationId{0});
  dispatcher.deliver(arrival(0, false));
  dispatcher.deliver({.time = at(50), .kind = EventKind::BlockStarted});
  Event late = arrival(1, false);
  late.time = at(70);
  dispatcher.deliver(late);
  const std::vector<std::pair<EventKind, Time>> expected{{EventKind::ApplicationArrived, at(0)},
                                                         {EventKind::LaunchArrived, at(0)},
                                                         {EventKind::BlockStarted, at(50)},
                                                         {EventKind::DeadlineReached, at(70)},
                                                         {EventKind::LaunchArrived, at(70)}};
  EXPECT_EQ(policy.heard(), expected);
}

// One of several real GPUs may reach a deadline after another one has reported a later event.
TEST(Dispatcher, TimeDoesNotGoBackToADeadlineThatHasBeenMissed) {
  const Workload workload = workload_of({launch_of(4, 10)});
  IdleGpu gpu;
  WakesOnce policy;
  Dispatcher dispatcher(gpu, policy, State(gpu.device(), workload), {});
  dispatcher.advance_to(at(70));
  dispatcher.advance_to(at(50));
  dispatcher.deliver(EventKind::ApplicationArrived, ApplicationId{0});
  const std::vector<std::pair<EventKind, Time>> expected{{EventKind::ApplicationArrived, at(70)}};
  EXPECT_EQ(policy.heard(), expected);
}

// Slate keeps the place of a launch that has ended for 50 us, and hears of what ended long after in the same look.
TEST(Dispatcher, AWakeUpBetweenKnownEventsHappensAtOnce) {
  const Workload workload = workload_of({launch_of(4, 10), launch_of(4, 10)});
  IdleGpu gpu;
  WakesOnce policy;
  Dispatcher dispatcher(gpu, policy, State(gpu.device(), workload), {});
  dispatcher.deliver(EventKind::ApplicationArrived, ApplicationId{0});
  dispatcher.deliver(arrival(0, true));
  dispatcher.deliver({.time = at(70), .kind = EventKind::BlockStarted});
  EXPECT_EQ(dispatcher.wake_at(), at(71));
  dispatcher.deliver({.time = at(90), .kind = EventKind::BlockEnded});
  EXPECT_EQ(policy.heard().back(), std::pair(EventKind::BlockEnded, at(90)));
  EXPECT_EQ(policy.heard()[policy.heard().size() - 2], std::pair(EventKind::DeadlineReached, at(90)));
}

/// Lets in launches of the second application, and plans for the others.
class LetsIn : public Policy {
 public:
  bool admits(const RunningLaunch& launch, const State& /*state*/) override {
    return launch.application == ApplicationId{1};
  }
  bool wants(const Event& event) const override { return event.application == ApplicationId{0}; }
  Plan decide(const State& state) const override { return {.shares = {full_share(*state.find(OperationId{0}))}}; }
};

TEST(Dispatcher, WhatAPolicyAdmitsBeginsWithoutAPlan) {
  const Workload workload = workload_of({launch_of(4, 10), launch_of(4, 10)});
  IdleGpu gpu;
  LetsIn policy;
  Dispatcher dispatcher(gpu, policy, State(gpu.device(), workload), {});
  dispatcher.deliver(arrival(0, false));
  dispatcher.deliver(arrival(1, false));
  EXPECT_EQ(gpu.admitted(), std::vector{OperationId{1}});
  EXPECT_EQ(gpu.plans(), 1);
}

// Who looks on is shown what holds; the device is told what the policy has planned.
TEST(Dispatcher, WhatWasAdmittedIsPartOfWhatHoldsUntilItHasEnded) {
  const Workload workload = workload_of({launch_of(4, 10), launch_of(4, 10), launch_of(4, 10)});
  IdleGpu gpu;
  LetsIn policy;
  Dispatcher dispatcher(gpu, policy, State(gpu.device(), workload), {});
  const auto launches = [&] {
    std::vector<int> shown;
    for (const Share& share : dispatcher.plan().shares) shown.push_back(static_cast<int>(share.launch));
    return shown;
  };
  dispatcher.deliver(arrival(1, false));
  EXPECT_EQ(launches(), std::vector{1});
  dispatcher.deliver(arrival(0, false));
  EXPECT_EQ(launches(), (std::vector{1, 0}));
  EXPECT_EQ(gpu.latest().shares.size(), 1U);
  dispatcher.deliver({.application = ApplicationId{1}, .operation = OperationId{1}, .kind = EventKind::LaunchEnded});
  EXPECT_EQ(launches(), std::vector{0});
}

}  // namespace
}  // namespace gpushare
