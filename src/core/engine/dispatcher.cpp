// SPDX-License-Identifier: Apache-2.0
#include "core/engine/dispatcher.hpp"

#include "core/engine/plan_check.hpp"

namespace gpushare {
namespace {

Plan checked(Plan plan, const State& state) {
  check(plan, state);
  return plan;
}

}  // namespace

void Dispatcher::deliver(const Event& event) {
  wake_before(event);
  state_.update(event);
  if (event.kind == EventKind::LaunchArrived) {
    const RunningLaunch& launch = *state_.find(event.operation);
    if (policy_->admits(launch, state_)) admit(launch);
  }
  if (event.kind == EventKind::LaunchEnded) forget_admitted(event.operation);
  for (RunObserver* observer : observers_) observer->saw(event);
  policy_->observe(event, state_);
  if (plan_due_.after(event, *policy_, state_)) enforce(checked(plan_due_.plan(*policy_, state_), state_));
}

// A real GPU falls behind its deadlines where they come faster than they can be served. A policy that has asked for a
// wake-up gets it late then, but before it sees any later event.
void Dispatcher::wake_before(const Event& event) {
  if (!wake_at_ || *wake_at_ >= event.time) return;
  advance_to(event.time);
  wake_policy();
}

void Dispatcher::admit(const RunningLaunch& launch) {
  gpu_.admit(launch.id);
  admitted_.push_back(full_share(launch));
  plan_.shares.insert(plan_.shares.begin(), admitted_.back());
}

/// The policy may want no new plan when an admitted launch ends, so the plan in force is adjusted.
void Dispatcher::forget_admitted(OperationId ended) {
  const auto is_ended = [ended](const Share& share) { return share.launch == ended; };
  if (std::erase_if(admitted_, is_ended) > 0) std::erase_if(plan_.shares, is_ended);
}

void Dispatcher::enforce(Plan plan) {
  wake_at_ = plan.wake_at;
  for (RunObserver* observer : observers_) observer->decided(plan);
  gpu_.apply(plan);
  std::erase_if(admitted_, [&](const Share& admitted) {
    return std::ranges::find(plan.shares, admitted.launch, &Share::launch) != plan.shares.end();
  });
  plan.shares.insert(plan.shares.begin(), admitted_.begin(), admitted_.end());
  plan_ = std::move(plan);
}

void Dispatcher::hand_over(Policy& policy, State empty, std::span<const Event> history) {
  for (const Event& event : history) {
    empty.update(event);
    policy.observe(event, empty);
  }
  std::optional<Plan> plan;
  if (!empty.running().empty()) plan = checked(policy.decide(empty), empty);
  policy_ = &policy;
  state_ = std::move(empty);
  wake_at_.reset();
  plan_due_ = {};
  for (RunObserver* observer : observers_) observer->saw(history.back());
  if (plan) enforce(std::move(*plan));
}

void Dispatcher::deliver(EventKind kind, ApplicationId application) {
  deliver(Event{.time = now(), .application = application, .kind = kind});
}

void Dispatcher::submit(const Submission& submission) {
  gpu_.submit(submission);
  if (!std::holds_alternative<Launch>(*submission.operation)) return;
  deliver(Event{.time = now(),
                .application = submission.application,
                .operation = submission.id,
                .kind = EventKind::LaunchArrived});
}

void Dispatcher::change_priority(ApplicationId application, int priority) {
  deliver(Event{.time = now(), .block = priority, .application = application, .kind = EventKind::PriorityChanged});
}

void Dispatcher::wake_policy() {
  wake_at_.reset();
  deliver(EventKind::DeadlineReached, {});
}

}  // namespace gpushare
