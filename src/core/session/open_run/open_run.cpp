// SPDX-License-Identifier: Apache-2.0
#include "core/session/open_run/open_run.hpp"

#include <utility>

#include "core/engine/application_streams.hpp"
#include "core/engine/plan_check.hpp"
#include "core/model/errors.hpp"
#include "core/model/residency.hpp"
#include "core/session/open_run/closed_run.hpp"
#include "core/session/open_run/handover.hpp"

namespace gpushare {
namespace {

/// So many ids of ended operations wait before the first one comes again: policies may look back for a moment, as to
/// keep a place for an application's next launch.
constexpr std::size_t ids_at_rest = 4096;

bool ends_operation(const Event& event) {
  return event.kind == EventKind::LaunchEnded || event.kind == EventKind::CopyEnded;
}

std::vector<RunObserver*> with(std::span<RunObserver* const> observers, RunObserver& another) {
  std::vector<RunObserver*> all(observers.begin(), observers.end());
  all.push_back(&another);
  return all;
}

}  // namespace

void require_runnable(const Operation& operation, const Device& device) {
  const auto* launch = std::get_if<Launch>(&operation);
  if (launch == nullptr) return require(std::get<Copy>(operation).size.count > 0, "a copy needs at least a byte");
  const auto subject = [launch] { return "kernel '" + launch->kernel.name + "': "; };
  const ResidencyLimits limits = residency_limits(device, launch->kernel.needs);
  require_lazily(limits.smallest() > 0, [&] {
    return subject() + "no block of it fits an SM of '" + device.name + "', which runs out of " + limits.tightest();
  });
  require_lazily(launch->blocks > 0, [&] { return subject() + "a launch needs at least one block"; });
}

OpenRun::OpenRun(Gpu& gpu, Policy& policy, std::shared_ptr<OpenWork> work, std::span<RunObserver* const> observers,
                 EndedWork ended_work, Ordering* ordering)
    : gpu_(gpu),
      policy_(&policy),
      observers_(with(observers, tallies_)),
      dispatcher_(gpu, policy, State(gpu.device()), observers_),
      ordered_(gpu, dispatcher_, *this, ordering),
      tallies_(dispatcher_.state()),
      work_(std::move(work)),
      ended_work_(ended_work) {}

ApplicationId OpenRun::add(Application application, Time now) {
  GPUSHARE_EXPECT(application.operations.empty(), "they are submitted one by one");
  policy_->check(application);
  application.arrival = now.time_since_epoch();
  const ApplicationId id = dispatcher_.state().add(std::make_shared<const Application>(std::move(application)));
  streams_.emplace(id, OpenStream{});
  ordered_.add(state().application(id), id);
  dispatcher_.advance_to(now);
  dispatcher_.deliver(EventKind::ApplicationArrived, id);
  return id;
}

OperationId OpenRun::submit(ApplicationId application, Operation operation, Time now,
                            std::shared_ptr<const DeviceCode> code, bool is_held) {
  require_runnable(operation, gpu_.device());
  const OperationId id = take_id();
  work_->operations[index(id)] = std::move(operation);
  work_->codes[index(id)] = std::move(code);
  owners_[index(id)] = application;
  ++unfinished_;
  OpenStream& stream = streams_.at(application);
  identities_[index(id)] = identity_of(state().application(application).name, stream.submitted++);
  dispatcher_.advance_to(now);
  if (is_held || !stream.unissued.empty()) {
    stream.unissued.push_back({id, is_held});
    ++unissued_;
  } else {
    issue(application, id);
  }
  return id;
}

void OpenRun::issue(ApplicationId application, OperationId operation) {
  OpenStream& stream = streams_.at(application);
  stream.time.submitted(dispatcher_.now());
  stream.waiting.push_back(operation);
  ordered_.issue(application, work_->operations[index(operation)]);
  if (stream.waiting.size() > 1) return;
  if (stream.current) {
    ordered_.announce_following(application);
  } else {
    start_next(application);
  }
}

void OpenRun::release(OperationId held, Time now) {
  const ApplicationId application = owners_[index(held)];
  std::ranges::find(streams_.at(application).unissued, held, &UnissuedOperation::id)->is_held = false;
  dispatcher_.advance_to(now);
  issue_released(application);
}

void OpenRun::issue_released(ApplicationId application) {
  std::deque<UnissuedOperation>& unissued = streams_.at(application).unissued;
  while (!unissued.empty() && !unissued.front().is_held) {
    const OperationId next = unissued.front().id;
    unissued.pop_front();
    --unissued_;
    issue(application, next);
  }
}

void OpenRun::abandon(OperationId held, Time now) {
  const ApplicationId application = owners_[index(held)];
  std::erase_if(streams_.at(application).unissued, [held](const auto& each) { return each.id == held; });
  dispatcher_.advance_to(now);
  drop_unissued(held);
  issue_released(application);
}

void OpenRun::drop_unissued(OperationId operation) {
  --unissued_;
  --unfinished_;
  forget(operation);
}

OperationId OpenRun::take_id() {
  if (forgotten_.size() > ids_at_rest) {
    const OperationId id = forgotten_.front();
    forgotten_.pop_front();
    return id;
  }
  work_->operations.emplace_back();
  work_->codes.emplace_back();
  owners_.emplace_back();
  identities_.emplace_back();
  return dispatcher_.state().add(work_->operations.back());
}

void OpenRun::forget(OperationId operation) {
  work_->codes[index(operation)].reset();
  if (ended_work_ == EndedWork::IsForgotten) forgotten_.push_back(operation);
}

void OpenRun::start_next(ApplicationId application) {
  OpenStream& stream = streams_.at(application);
  stream.current.reset();
  if (stream.waiting.empty()) return ordered_.ended(application);
  ordered_.offer(submission_of(stream.waiting.front()));
}

void OpenRun::going(const Submission& operation) {
  OpenStream& stream = streams_.at(operation.application);
  stream.waiting.pop_front();
  stream.current = operation.id;
}

std::optional<Submission> OpenRun::following(ApplicationId application) {
  const OpenStream& stream = streams_.at(application);
  if (stream.waiting.empty()) return std::nullopt;
  return submission_of(stream.waiting.front());
}

Submission OpenRun::submission_of(OperationId id) const {
  return {.id = id,
          .application = owners_[index(id)],
          .operation = &work_->operations[index(id)],
          .identity = identities_[index(id)],
          .code = work_->codes[index(id)].get()};
}

std::vector<OperationId> OpenRun::withdraw(ApplicationId application, Time now) {
  if (is_withdrawn(application)) return {};
  OpenStream& stream = streams_.at(application);
  stream.is_withdrawn = true;
  dispatcher_.advance_to(now);
  ordered_.withdraw(application);
  if (stream.current) gpu_.withdraw(*stream.current);
  const bool is_first_leaving = !stream.waiting.empty() && gpu_.is_leaving(stream.waiting.front());
  std::vector<OperationId> dropped(stream.waiting.begin() + (is_first_leaving ? 1 : 0), stream.waiting.end());
  stream.waiting.resize(is_first_leaving ? 1 : 0);
  drop(application, dropped);
  for (const UnissuedOperation& each : std::exchange(stream.unissued, {})) {
    drop_unissued(each.id);
    dropped.push_back(each.id);
  }
  if (!stream.current) end_withdrawn(application);
  return dropped;
}

bool OpenRun::is_withdrawn(ApplicationId application) const {
  const auto found = streams_.find(application);
  return found == streams_.end() || found->second.is_withdrawn;
}

std::vector<ApplicationId> OpenRun::forget_ended() {
  if (ended_work_ == EndedWork::IsKept) return {};
  for (const ApplicationId id : ended_) {
    streams_.erase(id);
    tallies_.forget(id);
    dispatcher_.state().forget(id);
  }
  return std::exchange(ended_, {});
}

void OpenRun::drop(ApplicationId application, std::span<const OperationId> operations) {
  unfinished_ -= std::ssize(operations);
  for (const OperationId operation : operations) {
    streams_.at(application).time.ended(dispatcher_.now());
    forget(operation);
  }
}

void OpenRun::end_withdrawn(ApplicationId application) {
  OpenStream& stream = streams_.at(application);
  stream.current.reset();
  stream.has_ended = true;
  ended_.push_back(application);
  ordered_.ended(application);
  dispatcher_.deliver(EventKind::ApplicationEnded, application);
  const std::vector<OperationId> left(stream.waiting.begin(), stream.waiting.end());
  stream.waiting.clear();
  drop(application, left);
}

void OpenRun::set_priority(ApplicationId application, int priority, Time now) {
  const auto found = streams_.find(application);
  if (found == streams_.end() || found->second.has_ended) return;
  Application changed = state().application(application);
  changed.priority = priority;
  policy_->check(changed);
  dispatcher_.advance_to(now);
  dispatcher_.change_priority(application, priority);
  ordered_.set_priority(application, priority);
}

void OpenRun::hand_over(Policy& policy, Time now) {
  dispatcher_.advance_to(now);
  std::vector<ApplicationId> present;
  for (const auto& [id, stream] : streams_) {
    if (stream.has_ended) continue;
    present.push_back(id);
    Application as_it_is = state().application(id);
    as_it_is.priority = state().priority(id);
    policy.check(as_it_is);
  }
  dispatcher_.hand_over(policy, state().before_all_events(), history_of(state(), present));
  policy_ = &policy;
}

void OpenRun::advance() {
  ordered_.let_go();
  while (const auto event = gpu_.next_event(dispatcher_.wake_at())) {
    if (event->kind == EventKind::LaunchEnded) tallies_.ending(*state().find(event->operation), event->time);
    dispatcher_.deliver(*event);
    if (!ends_operation(*event)) continue;
    --unfinished_;
    streams_.at(event->application).time.ended(event->time);
    forget(event->operation);
    if (is_withdrawn(event->application)) {
      end_withdrawn(event->application);
    } else {
      start_next(event->application);
    }
    ordered_.let_go();
  }
}

void OpenRun::reach(Time now) {
  dispatcher_.advance_to(now);
  const std::optional<Time> wake_at = dispatcher_.wake_at();
  if (wake_at && *wake_at <= now) dispatcher_.wake_policy();
}

std::string OpenRun::waiting() const { return starvation_message(dispatcher_.state()); }

ClosedRun OpenRun::close(Trace& trace) const { return closed_run(*work_, owners_, streams_, state(), trace); }

}  // namespace gpushare
