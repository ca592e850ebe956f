// SPDX-License-Identifier: Apache-2.0
#include "core/open_run.hpp"

#include "core/errors.hpp"
#include "core/plan_check.hpp"
#include "core/residency.hpp"

namespace gpushare {
namespace {

void require_runnable(const Operation& operation, const Device& device) {
  const auto* launch = std::get_if<Launch>(&operation);
  if (launch == nullptr) return;
  const ResidencyLimits limits = residency_limits(device, launch->kernel.needs);
  require(limits.smallest() > 0, "kernel '" + launch->kernel.name + "': no block of it fits an SM of '" + device.name +
                                     "', which runs out of " + limits.tightest());
}

bool ends_operation(const Event& event) {
  return event.kind == EventKind::LaunchEnded || event.kind == EventKind::CopyEnded;
}

/// A trace with other numbers for its operations, and with every application's end behind its last operation.
class ClosedTrace {
 public:
  ClosedTrace(const Workload& workload, const std::vector<OperationId>& renumbered) : renumbered_(renumbered) {
    for (const Application& application : workload.applications) unfinished_.push_back(application.operations.size());
  }

  Trace of(const Trace& trace) {
    Trace closed;
    auto decision = trace.decisions.begin();
    for (std::size_t position = 0; position < trace.events.size(); ++position) {
      append(trace.events[position], closed.events);
      for (; decision != trace.decisions.end() && decision->after_event == position; ++decision) {
        closed.decisions.push_back({closed.events.size() - 1, decision->plan});
        for (Share& share : closed.decisions.back().plan.shares) share.launch = renumbered_[index(share.launch)];
      }
      append_end(trace.events[position], closed.events);
    }
    return closed;
  }

 private:
  void append(Event event, std::vector<Event>& events) const {
    const bool names_operation =
        event.kind != EventKind::ApplicationArrived && event.kind != EventKind::DeadlineReached;
    if (names_operation) event.operation = renumbered_[index(event.operation)];
    events.push_back(event);
  }

  void append_end(const Event& event, std::vector<Event>& events) {
    if (!ends_operation(event) || --unfinished_[index(event.application)] > 0) return;
    events.push_back({.time = event.time, .application = event.application, .kind = EventKind::ApplicationEnded});
  }

  const std::vector<OperationId>& renumbered_;
  std::vector<std::size_t> unfinished_;  // operations, by application
};

}  // namespace

ApplicationId OpenRun::add(Application application, Time now) {
  GPUSHARE_EXPECT(application.operations.empty(), "they are submitted one by one");
  application.arrival = now.time_since_epoch();
  work_->applications.push_back(std::move(application));
  streams_.emplace_back();
  const ApplicationId id = dispatcher_.state().add(work_->applications.back());
  dispatcher_.advance_to(now);
  dispatcher_.deliver(EventKind::ApplicationArrived, id);
  return id;
}

OperationId OpenRun::submit(ApplicationId application, Operation operation, Time now) {
  require_runnable(operation, gpu_.device());
  work_->operations.push_back(std::move(operation));
  owners_.push_back(application);
  const OperationId id = dispatcher_.state().add(work_->operations.back());
  ++unfinished_;
  streams_[index(application)].waiting.push_back(id);
  dispatcher_.advance_to(now);
  if (!streams_[index(application)].busy) {
    start_next(application);
  } else if (streams_[index(application)].waiting.size() == 1) {
    gpu_.announce(submission_of(id));
  }
  return id;
}

void OpenRun::start_next(ApplicationId application) {
  Stream& stream = streams_[index(application)];
  stream.busy = !stream.waiting.empty();
  if (!stream.busy) return;
  const OperationId id = stream.waiting.front();
  stream.waiting.pop_front();
  dispatcher_.submit(submission_of(id));
  if (!stream.waiting.empty()) gpu_.announce(submission_of(stream.waiting.front()));
}

Submission OpenRun::submission_of(OperationId id) const {
  return {.id = id, .application = owners_[index(id)], .operation = &work_->operations[index(id)]};
}

void OpenRun::advance() {
  while (const auto event = gpu_.next_event(dispatcher_.wake_at())) {
    dispatcher_.deliver(*event);
    if (!ends_operation(*event)) continue;
    --unfinished_;
    start_next(event->application);
  }
}

void OpenRun::reach(Time now) {
  dispatcher_.advance_to(now);
  const std::optional<Time> wake_at = dispatcher_.wake_at();
  if (wake_at && *wake_at <= now) dispatcher_.wake_policy();
}

std::string OpenRun::waiting() const { return starvation_message(dispatcher_.state()); }

Workload OpenRun::close(Trace& trace) const {
  Workload workload{.name = "session"};
  for (const Application& application : work_->applications) workload.applications.push_back(application);
  std::vector<std::size_t> places(owners_.size());
  for (std::size_t id = 0; id < owners_.size(); ++id) {
    auto& operations = workload.applications[index(owners_[id])].operations;
    places[id] = operations.size();
    operations.push_back(work_->operations[id]);
  }
  std::size_t first = 0;
  std::vector<std::size_t> firsts;
  for (const Application& application : workload.applications) {
    firsts.push_back(first);
    first += application.operations.size();
  }
  std::vector<OperationId> renumbered;
  for (std::size_t id = 0; id < places.size(); ++id) {
    renumbered.push_back(static_cast<OperationId>(firsts[index(owners_[id])] + places[id]));
  }
  trace = ClosedTrace(workload, renumbered).of(trace);
  return workload;
}

}  // namespace gpushare
