// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/engine/admission.hpp"
#include "core/engine/application_streams.hpp"
#include "core/engine/dispatcher.hpp"
#include "core/engine/ordered_dispatch.hpp"
#include "core/engine/plan_check.hpp"
#include "core/engine/trace_check.hpp"
#include "core/model/errors.hpp"

namespace gpushare {
namespace {

/// After so many wake-ups in a row without any other event the policy waits for something that cannot happen.
constexpr int most_idle_wake_ups = 100'000;

class WorkloadEngine : private OperationSource {
 public:
  WorkloadEngine(Gpu& gpu, Policy& policy, const Workload& workload, std::span<RunObserver* const> observers,
                 Ordering* ordering)
      : gpu_(gpu),
        dispatcher_(gpu, policy, State(gpu.device(), workload), observers),
        streams_(workload),
        hosts_(workload.applications.size()),
        admission_(workload, gpu.device()),
        ordered_(gpu, dispatcher_, *this, ordering) {}

  void run() {
    while (!streams_.finished()) {
      if (const auto event = gpu_.next_event(deadline())) {
        idle_wake_ups_ = 0;
        dispatcher_.deliver(*event);
        advance(*event);
      } else {
        reach_deadline();
      }
      ordered_.let_go();
    }
  }

 private:
  /// The earliest of the next arrival, the next operation that a host issues, and the policy's wake-up.
  std::optional<Time> deadline() const {
    std::optional<Time> first = dispatcher_.wake_at();
    const auto consider = [&](Time time) { first = first ? std::min(*first, time) : time; };
    if (const std::optional<Time> arrival = streams_.next_arrival()) consider(*arrival);
    if (!issued_later_.empty()) consider(issued_later_.begin()->first);
    return first;
  }

  /// The end of an operation starts the next one of its application.
  void advance(const Event& event) {
    if (event.kind == EventKind::LaunchEnded || event.kind == EventKind::CopyEnded) start_next(event.application);
  }

  void start_next(ApplicationId application) {
    const auto submission = streams_.next(application);
    if (submission) return issue(*submission);
    dispatcher_.deliver(EventKind::ApplicationEnded, application);
    ordered_.ended(application);
    admission_.leave(application);
    start_admitted();
  }

  /// Issues the operation at once, or when the application's host gets to it.
  void issue(const Submission& submission) {
    const Time now = dispatcher_.now();
    const Time ready = hosts_.ready(submission.application, pace_of(*submission.operation), now);
    if (ready <= now) return ordered_.offer(submission);
    issued_later_.emplace(ready, submission);
  }

  /// Nothing where the application's host may issue the operation later.
  std::optional<Submission> following(ApplicationId application) const override {
    const auto next = streams_.peek(application);
    return next && pace_of(*next->operation) == HostPace{} ? next : std::nullopt;
  }

  /// Starts waiting applications as long as their memory fits.
  void start_admitted() {
    while (const auto application = admission_.admit()) {
      hosts_.start(*application, dispatcher_.now());
      start_next(*application);
    }
  }

  void reach_deadline() {
    const std::optional<Time> reached = deadline();
    if (!reached) throw PolicyError(starvation_message(dispatcher_.state()));
    dispatcher_.advance_to(*reached);
    if (dispatcher_.wake_at() == reached) wake_policy();
    while (streams_.next_arrival() == reached) {
      idle_wake_ups_ = 0;
      const ApplicationId arrived = streams_.arrive();
      dispatcher_.deliver(EventKind::ApplicationArrived, arrived);
      admission_.arrive(arrived);
      start_admitted();
    }
    while (!issued_later_.empty() && issued_later_.begin()->first == reached) {
      idle_wake_ups_ = 0;
      ordered_.offer(issued_later_.extract(issued_later_.begin()).mapped());
    }
  }

  void wake_policy() {
    if (nothing_resident() && ++idle_wake_ups_ > most_idle_wake_ups) {
      throw PolicyError(starvation_message(dispatcher_.state()));
    }
    dispatcher_.wake_policy();
  }

  /// A resident block will end, however often the policy wakes up until then.
  bool nothing_resident() const {
    return std::ranges::all_of(dispatcher_.state().running(),
                               [](const RunningLaunch& launch) { return launch.started == launch.done; });
  }

  Gpu& gpu_;
  Dispatcher dispatcher_;
  ApplicationStreams streams_;
  HostTimes hosts_;
  std::multimap<Time, Submission> issued_later_;  // equal times in the order in which they came
  Admission admission_;
  OrderedDispatch ordered_;
  int idle_wake_ups_ = 0;
};

}  // namespace

void run(Gpu& gpu, Policy& policy, const Workload& workload, std::span<RunObserver* const> observers) {
  run(gpu, policy, workload, observers, nullptr);
}

void run(Gpu& gpu, Policy& policy, const Workload& workload, std::span<RunObserver* const> observers,
         Ordering* ordering) {
  validate(workload, gpu.device());
  for (const Application& application : workload.applications) policy.check(application);
  WorkloadEngine(gpu, policy, workload, observers, ordering).run();
}

std::vector<Decision> decide_again(const Trace& trace, const Device& device, const Workload& workload, Policy& policy) {
  require_possible(trace, workload, device);
  State state(device, workload);
  std::vector<Decision> decisions;
  PlanDue plan_due;
  for (std::size_t position = 0; position < trace.events.size(); ++position) {
    const Event& event = trace.events[position];
    state.update(event);
    // The policy records its answer; the answer's effect on the device is in the trace already.
    if (event.kind == EventKind::LaunchArrived) policy.admits(*state.find(event.operation), state);
    policy.observe(event, state);
    if (plan_due.after(event, policy, state)) decisions.push_back({position, plan_due.plan(policy, state)});
  }
  return decisions;
}

}  // namespace gpushare
