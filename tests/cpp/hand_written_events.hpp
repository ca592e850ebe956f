// SPDX-License-Identifier: Apache-2.0
// Writes the events of a run by hand, so that a predictor or a policy can be asked at any point of it.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/engine/state.hpp"
#include "core/policies/registry.hpp"
#include "sample_workloads.hpp"

namespace gpushare::test {

/// A run in which application n has one launch, operation n. Every event reaches the state and then `observed`.
class HandWrittenRun {
 public:
  HandWrittenRun(Device device, Workload workload)
      : device_(std::make_unique<Device>(std::move(device))),
        workload_(std::make_unique<Workload>(std::move(workload))),
        state_(*device_, *workload_) {}
  HandWrittenRun(HandWrittenRun&&) = default;
  virtual ~HandWrittenRun() = default;

  void arrive(int launch, std::int64_t at) {
    happen({.application = static_cast<ApplicationId>(launch), .kind = EventKind::ApplicationArrived}, at);
    happen(
        {.application = static_cast<ApplicationId>(launch), .operation = id(launch), .kind = EventKind::LaunchArrived},
        at);
  }
  void start_block(int launch, int sm, std::int64_t at) { start_group(launch, sm, 1, at); }
  void start_group(int launch, int sm, std::int32_t blocks, std::int64_t at) {
    happen({.application = static_cast<ApplicationId>(launch),
            .operation = id(launch),
            .sm = static_cast<SmId>(sm),
            .blocks = blocks,
            .kind = EventKind::BlockStarted},
           at);
  }
  void end_block(int launch, int sm, std::int64_t started, std::int64_t at) { end_group(launch, sm, 1, started, at); }
  void end_group(int launch, int sm, std::int32_t blocks, std::int64_t started, std::int64_t at) {
    happen({.started = Time(Duration(started)),
            .application = static_cast<ApplicationId>(launch),
            .operation = id(launch),
            .sm = static_cast<SmId>(sm),
            .blocks = blocks,
            .kind = EventKind::BlockEnded},
           at);
  }
  /// A block that nothing else happens beside.
  void run_block(int launch, int sm, std::int64_t started, std::int64_t at) {
    start_block(launch, sm, started);
    end_block(launch, sm, started, at);
  }
  void expect_blocks(int launch, std::int64_t blocks, std::int64_t at) {
    happen({.block = blocks,
            .application = static_cast<ApplicationId>(launch),
            .operation = id(launch),
            .kind = EventKind::BlocksExpected},
           at);
  }
  void end_launch(int launch, std::int64_t at) {
    happen({.application = static_cast<ApplicationId>(launch), .operation = id(launch), .kind = EventKind::LaunchEnded},
           at);
  }
  void end_application(int application, std::int64_t at) {
    happen({.application = static_cast<ApplicationId>(application), .kind = EventKind::ApplicationEnded}, at);
  }
  void change_priority(int application, int priority, std::int64_t at) {
    happen(
        {.block = priority, .application = static_cast<ApplicationId>(application), .kind = EventKind::PriorityChanged},
        at);
  }
  void reach_deadline(std::int64_t at) { happen({.kind = EventKind::DeadlineReached}, at); }

  const State& state() const { return state_; }
  const RunningLaunch& running(int launch) const { return *state_.find(id(launch)); }

 protected:
  virtual void observed(const Event& /*event*/) {}

 private:
  static OperationId id(int launch) { return static_cast<OperationId>(launch); }
  void happen(Event event, std::int64_t at) {
    event.time = Time(Duration(at));
    state_.update(event);
    observed(event);
  }

  std::unique_ptr<const Device> device_;
  std::unique_ptr<const Workload> workload_;
  State state_;
};

/// Asks a policy as the engine does, and keeps its latest plan.
class PolicyRehearsal : public HandWrittenRun {
 public:
  PolicyRehearsal(std::string_view policy, Device device, Workload workload)
      : HandWrittenRun(std::move(device), std::move(workload)), policy_(make_policy(policy)) {}

  const Plan& plan() const { return plan_; }
  int plans() const { return plans_; }

  /// The launches that began without a plan, in order of arrival.
  const std::vector<int>& admitted() const { return admitted_; }

  /// The launches that the plan names, first served first.
  std::vector<int> order() const {
    std::vector<int> launches;
    for (const Share& share : plan_.shares) launches.push_back(static_cast<int>(share.launch));
    return launches;
  }

  /// A launch's quota on every SM; all 0 if the plan leaves it out.
  std::vector<int> quotas(int launch) const {
    std::vector<int> blocks(static_cast<std::size_t>(state().sms()), 0);
    for (const Share& share : plan_.shares) {
      if (static_cast<int>(share.launch) != launch) continue;
      for (std::size_t sm = 0; sm < blocks.size(); ++sm) blocks[sm] = share.quota.at(static_cast<SmId>(sm));
    }
    return blocks;
  }

 protected:
  void observed(const Event& event) override {
    if (event.kind == EventKind::LaunchArrived && policy_->admits(*state().find(event.operation), state())) {
      admitted_.push_back(static_cast<int>(event.operation));
    }
    policy_->observe(event, state());
    if (state().running().empty() || !policy_->wants(event)) return;
    plan_ = policy_->decide(state());
    ++plans_;
  }

 private:
  std::unique_ptr<Policy> policy_;
  Plan plan_;
  std::vector<int> admitted_;
  int plans_ = 0;
};

}  // namespace gpushare::test
