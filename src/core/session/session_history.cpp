// SPDX-License-Identifier: Apache-2.0
#include "core/session/session_history.hpp"

#include <utility>

#include "core/session/session_status.hpp"

namespace gpushare {
namespace {

std::int64_t blocks_in(const Quota& quota, int sms) {
  if (quota.is_uniform()) return std::int64_t{quota.largest()} * sms;
  std::int64_t sum = 0;
  for (std::size_t sm = 0; sm < quota.size(); ++sm) sum += quota.at(static_cast<SmId>(sm));
  return sum;
}

}  // namespace

void SessionHistory::submitted(OperationId operation, Time now) {
  if (submitted_.size() <= index(operation)) submitted_.resize(index(operation) + 1);
  // The first of its application has been told of as arriving already, and as of now.
  if (run_->state().find(operation) == nullptr) submitted_[index(operation)] = now;
}

void SessionHistory::saw(const Event& event) {
  switch (event.kind) {
    case EventKind::LaunchArrived:
      return arrive(event);
    case EventKind::BlockStarted:
      begin(event);
      return count_sms(event);
    case EventKind::BlockEnded:
      return count_sms(event);
    case EventKind::CopyStarted:
      arrive(event);
      return begin(event);
    case EventKind::LaunchEnded:
    case EventKind::CopyEnded:
      return end(event);
    case EventKind::ApplicationEnded:
      return forget(event.application, event.time);
    default:
      return;
  }
}

SessionHistory::Present* SessionHistory::find(ApplicationId application) {
  const auto found = present_.find(application);
  return found != present_.end() ? &found->second : nullptr;
}

SessionHistory::Present& SessionHistory::of(ApplicationId application) {
  if (Present* known = find(application)) return *known;
  const std::string& name = run_->state().application(application).name;
  auto described = std::make_shared<const PastApplication>(PastApplication{.id = application, .name = name});
  const std::scoped_lock lock(mutex_);
  return present_.emplace(application, Present{.application = std::move(described)}).first->second;
}

/// It has ended: what is known of it only as the present becomes part of the past.
void SessionHistory::forget(ApplicationId application, Time now) {
  const Present* present = find(application);
  if (present == nullptr) return;
  const SmOccupancySteps::Step held = present->held_lately;
  if (held.time != Time{}) {
    holds_.push({.application = present->application, .sms = held.sms, .time = held.time, .end = now});
  }
  const std::scoped_lock lock(mutex_);
  present_.erase(application);
}

void SessionHistory::arrive(const Event& event) {
  Present& present = of(event.application);
  const RunningLaunch* launch = run_->state().find(event.operation);
  PastOperation operation{.application = present.application, .submitted = event.time};
  if (index(event.operation) < submitted_.size()) {
    operation.submitted = std::exchange(submitted_[index(event.operation)], std::nullopt).value_or(event.time);
  }
  if (launch != nullptr) operation.kernel = launch->launch->kernel.name;
  const std::scoped_lock lock(mutex_);
  present.operation = std::move(operation);
}

void SessionHistory::begin(const Event& event) {
  Present& present = of(event.application);
  if (!present.operation || present.operation->began) return;
  const std::scoped_lock lock(mutex_);
  present.operation->began = event.time;
}

void SessionHistory::end(const Event& event) {
  Present& present = of(event.application);
  give(present, Quota::nowhere(), event.time);
  hold(present, 0, event.time);
  if (!present.operation) return;
  std::unique_lock lock(mutex_);
  PastOperation ended = *std::exchange(present.operation, std::nullopt);
  lock.unlock();
  ended.end = event.time;
  ended.is_cancelled = run_->is_withdrawn(event.application);
  operations_.push(std::move(ended));
}

/// The state has the event already.
void SessionHistory::count_sms(const Event& event) {
  const RunningLaunch* launch = run_->state().find(event.operation);
  if (launch == nullptr) return;
  const int resident = launch->per_sm[index(event.sm)].resident;
  Present& present = of(event.application);
  const int held = present.held.sms();
  if (event.kind == EventKind::BlockStarted && resident == event.blocks) hold(present, held + 1, event.time);
  if (event.kind == EventKind::BlockEnded && resident == 0) hold(present, held - 1, event.time);
}

void SessionHistory::hold(Present& present, int sms, Time now) {
  const bool comes_or_goes = sms == 0 || present.held.sms() == 0;
  const std::optional<SmOccupancySteps::Step> step = present.held.change(sms, now);
  if (step) holds_.push({.application = present.application, .sms = step->sms, .time = step->time, .end = now});
  if (!step && !comes_or_goes) return;  // most changes: no lock
  const std::scoped_lock lock(mutex_);
  present.held_lately = present.held.last();
}

void SessionHistory::decided(const Plan& plan) {
  const State& state = run_->state();
  ++plans_;
  std::swap(before_, holders_);
  holders_.clear();
  for (const Share& share : plan.shares) {
    const RunningLaunch* launch = state.find(share.launch);
    if (launch == nullptr || share.quota.largest() == 0) continue;
    Present& present = of(launch->application);
    present.plan = plans_;
    holders_.push_back(launch->application);
    give(present, share.quota, state.now());
  }
  for (const ApplicationId before : before_) {
    Present* present = find(before);  // none: it has ended
    if (present != nullptr && present->plan != plans_) give(*present, Quota::nowhere(), state.now());
  }
}

void SessionHistory::give(Present& present, const Quota& quota, Time now) {
  if (present.quota == quota) return;
  if (auto past = quota_of(present, now)) quotas_.push(std::move(*past));
  const std::scoped_lock lock(mutex_);
  present.quota = quota;
  present.quota_since = now;
}

/// None where there is none, or where it lasted no time.
std::optional<PastQuota> SessionHistory::quota_of(const Present& present, Time now) const {
  if (present.quota.largest() == 0 || now <= present.quota_since) return std::nullopt;
  return PastQuota{.application = present.application,
                   .quota = short_form(present.quota),
                   .blocks = blocks_in(present.quota, run_->state().sms()),
                   .begin = present.quota_since,
                   .end = now};
}

SessionPast SessionHistory::since(Time since, Time now) const {
  SessionPast past{
      .now = now, .operations = operations_.since(since), .quotas = quotas_.since(since), .holds = holds_.since(since)};
  const std::scoped_lock lock(mutex_);
  for (const auto& [id, present] : present_) {
    if (auto quota = quota_of(present, now)) past.quotas.push_back(std::move(*quota));
    const SmOccupancySteps::Step held = present.held_lately;
    if (held.sms > 0 || held.time >= since) {
      past.holds.push_back({.application = present.application, .sms = held.sms, .time = held.time, .end = now});
    }
    if (!present.operation) continue;
    PastOperation& operation = past.operations.emplace_back(*present.operation);
    operation.end = now;
    operation.is_under_way = true;
  }
  return past;
}

}  // namespace gpushare
