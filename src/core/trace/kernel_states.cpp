// SPDX-License-Identifier: Apache-2.0
#include "core/trace/kernel_states.hpp"

#include <algorithm>
#include <array>

#include "core/engine/trace_check.hpp"

namespace gpushare {
namespace {

/// One launch, as far as the trace has been read.
struct Progress {
  std::int64_t unstarted = 0;
  std::int64_t resident = 0;
  bool was_planned = false;  // if not, what of it is on the GPU was admitted, or follows another launch there
  bool may_start = false;    // by the plan in force
  std::vector<KernelStateSpan> spans{};

  KernelState state() const {
    if (resident == 0) return may_start ? KernelState::ToRun : KernelState::Ready;
    return may_start || !was_planned || unstarted == 0 ? KernelState::Running : KernelState::ToEvict;
  }

  /// A state that lasted no time is dropped, and the one that it had interrupted continues.
  void enter(KernelState next, Time now) {
    if (spans.back().state == next) return;
    KernelStateSpan span = spans.back();
    if (span.begin == now) {
      spans.pop_back();
      if (!spans.empty() && spans.back().state == next) return;
    } else {
      spans.back().end = now;
    }
    span.state = next;
    span.begin = now;
    spans.push_back(span);
  }
};

class Reader {
 public:
  explicit Reader(const Workload& workload) : since_(workload.applications.size()) {
    for (const Application& application : workload.applications) {
      for (const Operation& operation : application.operations) {
        const auto* launch = std::get_if<Launch>(&operation);
        launches_.push_back({.unstarted = launch == nullptr ? 0 : launch->blocks});
      }
    }
  }

  void see(const Event& event) {
    Progress& launch = launches_[index(event.operation)];
    switch (event.kind) {
      case EventKind::ApplicationArrived:
        since_[index(event.application)] = event.time;
        return;
      case EventKind::LaunchArrived:
        return arrive(launch, event);
      case EventKind::BlockStarted:
        launch.resident += event.blocks;
        launch.unstarted -= event.blocks;
        return launch.enter(launch.state(), event.time);
      case EventKind::BlockEnded:
        launch.resident -= event.blocks;
        if (launch.resident == 0 && launch.unstarted == 0) return;  // its end is the next event
        return launch.enter(launch.state(), event.time);
      case EventKind::LaunchEnded:
        return end(launch, event);
      default:
        return;
    }
  }

  void see(const Plan& plan, Time now) {
    for (const OperationId id : running_) launches_[index(id)].may_start = false;
    for (const Share& share : plan.shares) {
      launches_[index(share.launch)].was_planned = true;
      launches_[index(share.launch)].may_start = share.quota.largest() > 0;
    }
    for (const OperationId id : running_) {
      Progress& launch = launches_[index(id)];
      launch.enter(launch.state(), now);
    }
  }

  std::vector<KernelStateSpan> take() {
    std::vector<KernelStateSpan> all;
    for (const Progress& launch : launches_) all.insert(all.end(), launch.spans.begin(), launch.spans.end());
    return all;
  }

 private:
  void arrive(Progress& launch, const Event& event) {
    const Time since = since_[index(event.application)];
    running_.push_back(event.operation);
    launch.spans = {
        {.application = event.application, .operation = event.operation, .state = KernelState::Prep, .begin = since}};
    launch.enter(KernelState::Ready, event.time);
  }

  void end(Progress& launch, const Event& event) {
    std::erase(running_, event.operation);
    since_[index(event.application)] = event.time;
    launch.enter(KernelState::Done, event.time);
    launch.spans.back().end = event.time;
  }

  std::vector<Progress> launches_;    // by OperationId
  std::vector<OperationId> running_;  // in order of arrival
  std::vector<Time> since_;           // by application: its arrival, or the end of its latest launch
};

}  // namespace

std::string_view name_of(KernelState state) {
  constexpr std::array<std::string_view, 6> names{"PREP", "READY", "TORUN", "RUNNING", "TOEVICT", "DONE"};
  return names.at(static_cast<std::size_t>(state));
}

std::vector<KernelStateSpan> kernel_states(const Trace& trace, const Workload& workload) {
  require_possible(trace, workload);
  Reader reader(workload);
  auto decision = trace.decisions.begin();
  for (std::size_t position = 0; position < trace.events.size(); ++position) {
    const Event& event = trace.events[position];
    reader.see(event);
    for (; decision != trace.decisions.end() && decision->after_event == position; ++decision) {
      reader.see(decision->plan, event.time);
    }
  }
  return reader.take();
}

}  // namespace gpushare
