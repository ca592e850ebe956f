// SPDX-License-Identifier: Apache-2.0
#include "core/session/open_run/closed_run.hpp"

#include <limits>

namespace gpushare {
namespace {

bool is_of_operation(EventKind kind) {
  return kind != EventKind::ApplicationArrived && kind != EventKind::ApplicationEnded &&
         kind != EventKind::DeadlineReached && kind != EventKind::PriorityChanged;
}

bool is_end_of_operation(EventKind kind) { return kind == EventKind::LaunchEnded || kind == EventKind::CopyEnded; }

/// Which operations have begun. The launch of an application that was withdrawn may have had no block by then: it was
/// none, and took no time.
std::vector<bool> begun_in(const Trace& trace, std::size_t operations) {
  std::vector<bool> begun(operations, false);
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::BlockStarted || event.kind == EventKind::CopyStarted) {
      begun[index(event.operation)] = true;
    }
  }
  return begun;
}

/// The numbers that things have in the workload, by those that they had in the run.
struct ClosedNumbers {
  std::vector<std::optional<ApplicationId>> applications;
  std::vector<std::optional<OperationId>> operations;
};

/// A trace with other numbers, and with every application's end behind its last operation; of one that was withdrawn
/// the trace tells the end by itself.
class ClosedTrace {
 public:
  ClosedTrace(const Workload& workload, const ClosedNumbers& numbers) : numbers_(numbers) {
    for (const Application& application : workload.applications) unfinished_.push_back(application.operations.size());
  }

  Trace of(const Trace& trace) {
    for (const Event& event : trace.events) {
      if (event.kind != EventKind::ApplicationEnded) continue;
      if (const auto application = numbers_.applications[index(event.application)]) {
        unfinished_[index(*application)] = never;
      }
    }
    Trace closed;
    auto decision = trace.decisions.begin();
    for (std::size_t position = 0; position < trace.events.size(); ++position) {
      std::optional<Event> event = renumbered(trace.events[position]);
      const bool is_decided = decision != trace.decisions.end() && decision->after_event == position;
      // What led to a plan is no part of the run, and the plan is: as if the policy had had itself woken.
      if (!event && is_decided) event = Event{.time = trace.events[position].time, .kind = EventKind::DeadlineReached};
      if (!event) continue;
      closed.events.push_back(*event);
      for (; decision != trace.decisions.end() && decision->after_event == position; ++decision) {
        closed.decisions.push_back({closed.events.size() - 1, renumbered(decision->plan)});
      }
      append_end(*event, closed.events);
    }
    return closed;
  }

 private:
  std::optional<Event> renumbered(Event event) const {
    if (event.kind != EventKind::DeadlineReached) {
      const auto application = numbers_.applications[index(event.application)];
      if (!application) return std::nullopt;
      event.application = *application;
    }
    if (is_of_operation(event.kind)) {
      const auto operation = numbers_.operations[index(event.operation)];
      if (!operation) return std::nullopt;
      event.operation = *operation;
    }
    return event;
  }

  Plan renumbered(Plan plan) const {
    std::erase_if(plan.shares, [this](const Share& share) { return !numbers_.operations[index(share.launch)]; });
    for (Share& share : plan.shares) share.launch = *numbers_.operations[index(share.launch)];
    return plan;
  }

  void append_end(const Event& event, std::vector<Event>& events) {
    if (!is_end_of_operation(event.kind) || --unfinished_[index(event.application)] > 0) return;
    events.push_back({.time = event.time, .application = event.application, .kind = EventKind::ApplicationEnded});
  }

  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

  const ClosedNumbers& numbers_;
  std::vector<std::size_t> unfinished_;  // operations, by application
};

/// Those that were there, without their operations.
std::vector<std::optional<ApplicationId>> take_applications(std::span<const ApplicationId> owners,
                                                            const std::map<ApplicationId, OpenStream>& streams,
                                                            const State& state, const std::vector<bool>& begun,
                                                            ClosedRun& closed) {
  std::vector<bool> has_begun(streams.size(), false);
  for (std::size_t id = 0; id < owners.size(); ++id) {
    if (begun[id]) has_begun[index(owners[id])] = true;
  }
  std::vector<std::optional<ApplicationId>> numbers(streams.size());
  for (const auto& [id, stream] : streams) {
    if (!has_begun[index(id)]) continue;  // it was withdrawn, or what its launches waited for has failed
    numbers[index(id)] = static_cast<ApplicationId>(closed.workload.applications.size());
    closed.workload.applications.push_back(state.application(id));
    closed.turnarounds.push_back(stream.time.total());
  }
  return numbers;
}

}  // namespace

ClosedRun closed_run(const OpenWork& work, std::span<const ApplicationId> owners,
                     const std::map<ApplicationId, OpenStream>& streams, const State& state, Trace& trace) {
  ClosedRun closed{.workload = {.name = "session"}, .turnarounds = {}};
  Workload& workload = closed.workload;
  const std::vector<bool> begun = begun_in(trace, owners.size());
  ClosedNumbers numbers{.applications = take_applications(owners, streams, state, begun, closed), .operations = {}};
  std::vector<std::size_t> places(owners.size());
  for (std::size_t id = 0; id < owners.size(); ++id) {
    if (!begun[id]) continue;
    auto& operations = workload.applications[index(*numbers.applications[index(owners[id])])].operations;
    places[id] = operations.size();
    operations.push_back(work.operations[id]);
  }
  std::size_t first = 0;
  std::vector<std::size_t> firsts;
  for (const Application& application : workload.applications) {
    firsts.push_back(first);
    first += application.operations.size();
  }
  for (std::size_t id = 0; id < owners.size(); ++id) {
    numbers.operations.emplace_back();
    if (!begun[id]) continue;
    const std::size_t before = firsts[index(*numbers.applications[index(owners[id])])];
    numbers.operations.back() = static_cast<OperationId>(before + places[id]);
  }
  trace = ClosedTrace(workload, numbers).of(trace);
  return closed;
}

}  // namespace gpushare
