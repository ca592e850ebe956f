// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/remembering_drain.hpp"

#include <algorithm>

namespace gpushare {
namespace {

constexpr double between_forecasts = 1.0 / 64;
/// Share of the launch's time: where less was predicted to remain, a factor means nothing.
constexpr double least_remaining = 0.02;

}  // namespace

void RememberingDrain::observe(const Event& event, const State& state) {
  drain_.observe(event, state);
  if (event.kind == EventKind::LaunchEnded) under_way_.erase(event.operation);
  if (event.kind == EventKind::LaunchArrived || event.kind == EventKind::LaunchEnded) {
    for (auto& [id, each] : under_way_) each.is_disturbed = true;
  }
  if (event.kind == EventKind::LaunchArrived) under_way_[event.operation] = {};
  if (event.kind == EventKind::BlockStarted) {
    if (FollowedLaunch* launched = find(event.operation)) launched->goes_on(event.time);
  }
  if (event.kind == EventKind::BlockEnded) {
    const RunningLaunch& launch = *state.find(event.operation);
    if (launch.unfinished() == 0 && launch.elsewhere == 0) learn(launch, event.time);
    if (std::ranges::find(reported_, launch.id) == reported_.end()) reported_.push_back(launch.id);
  }
  // Until all reports of a poll are in, they cover some SMs only; a policy may be woken between them.
  if (event.next_is_known || event.kind == EventKind::DeadlineReached) return;
  for (const OperationId id : reported_) {
    const RunningLaunch* launch = state.find(id);
    FollowedLaunch* launched = find(id);
    if (launch == nullptr || launched == nullptr) continue;
    forecast(*launch, *launched, state.now());
    if (launch->started == launch->done) launched->still_since = state.now();
  }
  reported_.clear();
}

/// Nothing of what had begun before anybody listened.
RememberingDrain::FollowedLaunch* RememberingDrain::find(OperationId launch) {
  const auto found = under_way_.find(launch);
  return found == under_way_.end() ? nullptr : &found->second;
}

void RememberingDrain::FollowedLaunch::goes_on(Time now) {
  if (still_since) stood_still += std::max(now - *still_since, Duration{});
  still_since.reset();
}

void RememberingDrain::reslice() {
  drain_.reslice();
  for (auto& [id, each] : under_way_) each.is_disturbed = true;
}

void RememberingDrain::forecast(const RunningLaunch& launch, FollowedLaunch& launched, Time now) {
  if (launched.is_disturbed || !drain_.has_sample(launch)) return;
  if (launch.unfinished() == 0 || done(launch) < launched.next_done) return;
  launched.forecasts.push_back({done(launch), now - launched.stood_still, drain_.remaining(launch, now)});
  launched.next_done = done(launch) + between_forecasts;
}

void RememberingDrain::learn(const RunningLaunch& launch, Time end) {
  const FollowedLaunch* launched = find(launch.id);
  if (launched == nullptr || launched->is_disturbed) return;
  std::vector<DrainError> errors;
  for (const Forecast& each : launched->forecasts) {
    const double said = nanoseconds(each.remaining);
    if (said <= least_remaining * nanoseconds(end - launch.arrival)) continue;
    errors.push_back({each.done, nanoseconds(end - launched->stood_still - each.time) / said});
  }
  if (!errors.empty()) errors_[name_and_threads(launch.launch->kernel)].add(std::move(errors));
}

Duration RememberingDrain::remaining(const RunningLaunch& launch, Time now) const {
  const Duration remaining = drain_.remaining(launch, now);
  const DrainErrors* known = errors_.peek(name_and_threads(launch.launch->kernel));
  if (known == nullptr) return remaining;
  return Duration(static_cast<Duration::rep>(nanoseconds(remaining) * known->factor(done(launch))));
}

}  // namespace gpushare
