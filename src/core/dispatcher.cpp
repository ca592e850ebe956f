// SPDX-License-Identifier: Apache-2.0
#include "core/dispatcher.hpp"

#include <algorithm>

#include "core/plan_check.hpp"

namespace gpushare {

void Dispatcher::deliver(const Event& event) {
  state_.update(event);
  for (RunObserver* observer : observers_) observer->saw(event);
  policy_.observe(event, state_);
  if (!state_.running().empty() && policy_.wants(event)) decide();
}

void Dispatcher::decide() {
  const Plan plan = policy_.decide(state_);
  check(plan, state_);
  wake_at_ = plan.wake_at;
  for (RunObserver* observer : observers_) observer->decided(plan);
  gpu_.apply(plan);
}

void Dispatcher::deliver(EventKind kind, ApplicationId application) {
  deliver(Event{.time = std::max(now_, state_.now()), .application = application, .kind = kind});
}

void Dispatcher::submit(const Submission& submission) {
  gpu_.submit(submission);
  if (!std::holds_alternative<Launch>(*submission.operation)) return;
  deliver(Event{.time = std::max(now_, state_.now()),
                .application = submission.application,
                .operation = submission.id,
                .kind = EventKind::LaunchArrived});
}

void Dispatcher::wake_policy() {
  wake_at_.reset();
  deliver(EventKind::DeadlineReached, {});
}

}  // namespace gpushare
