// SPDX-License-Identifier: Apache-2.0
// Passes events from the device to the state, the observers and the policy, and the policy's plans to the device. Runs
// of known work (engine.cpp) and of work that is submitted during the run (open_run.cpp) share it.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "core/engine/engine.hpp"
#include "core/engine/gpu.hpp"
#include "core/engine/policy.hpp"

namespace gpushare {

/// Decides when a policy is asked for a plan: after an event for which the policy wants one; where the device knows
/// several events already, once, after the last.
class PlanDue {
 public:
  bool after(const Event& event, const Policy& policy, const State& state) {
    is_wanted_ |= !state.running().empty() && policy.wants(event);
    was_put_off_ |= is_wanted_ && event.next_is_known;
    if (event.next_is_known) return false;
    const bool is_due = std::exchange(is_wanted_, false) && !state.running().empty();
    was_put_off_ &= is_due;
    return is_due;
  }

  /// Known events may be some time apart. A wake-up that the policy has set between them is delivered at once.
  Plan plan(const Policy& policy, const State& state) {
    Plan plan = policy.decide(state);
    if (std::exchange(was_put_off_, false) && plan.wake_at) {
      plan.wake_at = std::max(*plan.wake_at, state.now() + Duration(1));
    }
    return plan;
  }

 private:
  bool is_wanted_ = false;
  bool was_put_off_ = false;
};

class Dispatcher {
 public:
  Dispatcher(Gpu& gpu, Policy& policy, State state, std::span<RunObserver* const> observers)
      : gpu_(gpu), policy_(&policy), observers_(observers), state_(std::move(state)) {}

  State& state() { return state_; }
  const State& state() const { return state_; }
  /// The time at which the policy wants to be asked again, whatever happens.
  std::optional<Time> wake_at() const { return wake_at_; }
  /// The run has reached this time without an event. On real GPUs that fall behind it may be past it already.
  void advance_to(Time time) { now_ = std::max(now_, time); }
  /// The time of the latest event or of advance_to(), whichever is later.
  Time now() const { return std::max(now_, state_.now()); }

  void deliver(const Event& event);
  /// Delivers an event that no device reports: an arrival or an end of an application.
  void deliver(EventKind kind, ApplicationId application);
  /// Hands an operation to the device; a launch has then arrived.
  void submit(const Submission& submission);
  /// wake_at() has been reached.
  void wake_policy();

  void change_priority(ApplicationId application, int priority);

  /// The plan in force, with the launches that were admitted and have not ended in front.
  const Plan& plan() const { return plan_; }
  /// Replaces the policy, which first sees a history that leads to the present state. Observers see only the last event
  /// of that history. If the policy throws, nothing changes.
  void hand_over(Policy& policy, State empty, std::span<const Event> history);

 private:
  void wake_before(const Event& event);
  void admit(const RunningLaunch& launch);
  void forget_admitted(OperationId ended);
  void enforce(Plan plan);

  Gpu& gpu_;
  Policy* policy_;
  std::span<RunObserver* const> observers_;
  State state_;
  Plan plan_;
  std::vector<Share> admitted_;
  std::optional<Time> wake_at_;  // plan_'s, until it has been reached
  Time now_{};
  PlanDue plan_due_;
};

}  // namespace gpushare
