// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/sm_time_account.hpp"

#include <algorithm>

namespace gpushare {
namespace {

double sm_time_of(const RunningLaunch& launch, Time now) {
  double time = 0;
  for (const SmProgress& sm : launch.per_sm) time += nanoseconds(sm.active(now));
  return time;
}

}  // namespace

void SmTimeAccount::observe(const Event& event, const State& state) {
  if (event.kind == EventKind::ApplicationEnded) accounts_.erase(event.application);
  if (event.kind != EventKind::LaunchArrived && event.kind != EventKind::BlockEnded) return;
  const RunningLaunch& launch = *state.find(event.operation);
  if (event.kind == EventKind::BlockEnded && launch.unfinished() > 0) return;
  Account& account = accounts_[launch.application];
  account.is_running = event.kind == EventKind::LaunchArrived;
  if (account.is_running) {
    account.launch = launch.id;
  } else {
    account.ended += sm_time_of(launch, event.time);  // its end takes it out of the state
  }
}

void SmTimeAccount::set_weight(ApplicationId application, double weight, const State& state) {
  Account& account = accounts_.at(application);
  if (account.weight == weight) return;
  const double before = virtual_time(application, state);
  account.weight = weight;
  account.offset += before - virtual_time(application, state);
}

double SmTimeAccount::virtual_time(ApplicationId application, const State& state) const {
  const Account& account = accounts_.at(application);
  const RunningLaunch* launch = account.is_running ? state.find(account.launch) : nullptr;
  const double running = launch != nullptr ? sm_time_of(*launch, state.now()) : 0;
  return (account.ended + running) / account.weight + account.offset;
}

double SmTimeAccount::mean(std::span<const ApplicationId> present, const State& state) const {
  double sum = 0;
  double weights = 0;
  for (const ApplicationId each : present) {
    const Account& account = accounts_.at(each);
    if (account.is_new) continue;
    sum += account.weight * virtual_time(each, state);
    weights += account.weight;
  }
  return weights > 0 ? sum / weights : 0;
}

void SmTimeAccount::limit_lag(std::span<const ApplicationId> present, double most, const State& state) {
  const double middle = mean(present, state);
  for (const ApplicationId each : present) {
    Account& account = accounts_.at(each);
    const double behind = middle - virtual_time(each, state);
    const double allowed = account.is_new ? 0 : most;  // a new application does not lag yet
    if (behind > allowed) account.offset += behind - allowed;
    account.is_new = false;
  }
}

}  // namespace gpushare
