// SPDX-License-Identifier: Apache-2.0
#include "core/engine.hpp"

#include <algorithm>

#include "core/application_streams.hpp"
#include "core/errors.hpp"
#include "core/plan_check.hpp"

namespace gpushare {
namespace {

/// So many wake-ups in a row without any other event mean that the policy waits for something that cannot happen.
constexpr int most_idle_wake_ups = 100'000;

class Engine {
 public:
  Engine(Gpu& gpu, Policy& policy, const Workload& workload, std::span<RunObserver* const> observers)
      : gpu_(gpu), policy_(policy), observers_(observers), state_(gpu.device(), workload), streams_(workload) {
    update_deadline();
  }

  void run() {
    while (!streams_.finished()) {
      if (const auto event = gpu_.next_event(deadline_)) {
        idle_wake_ups_ = 0;
        deliver(*event);
        advance(*event);
      } else {
        reach_deadline();
      }
    }
  }

 private:
  /// To be called when the next arrival or the plan's wake-up has changed: both are rare, and events are not.
  void update_deadline() {
    const std::optional<Time> arrival = streams_.next_arrival();
    deadline_ = arrival && wake_at_ ? std::min(*arrival, *wake_at_) : arrival ? arrival : wake_at_;
  }

  void deliver(const Event& event) {
    state_.update(event);
    for (RunObserver* observer : observers_) observer->saw(event);
    policy_.observe(event, state_);
    if (!state_.running().empty() && policy_.wants(event)) decide();
  }

  void decide() {
    const Plan plan = policy_.decide(state_);
    check(plan, state_);
    wake_at_ = plan.wake_at;
    update_deadline();
    for (RunObserver* observer : observers_) observer->decided(plan);
    gpu_.apply(plan);
  }

  /// The end of an operation starts the next one of its application.
  void advance(const Event& event) {
    if (event.kind == EventKind::LaunchEnded || event.kind == EventKind::CopyEnded) start_next(event.application);
  }

  void start_next(ApplicationId application) {
    const auto submission = streams_.next(application);
    if (!submission) return deliver(engine_event(EventKind::ApplicationEnded, application));
    gpu_.submit(*submission);
    if (!std::holds_alternative<Launch>(*submission->operation)) return;
    Event arrived = engine_event(EventKind::LaunchArrived, application);
    arrived.operation = submission->id;
    deliver(arrived);
  }

  void reach_deadline() {
    const std::optional<Time> reached = deadline_;
    if (!reached) throw PolicyError(starvation_message(state_));
    now_ = *reached;
    if (wake_at_ == reached) {
      wake_at_.reset();
      if (nothing_resident() && ++idle_wake_ups_ > most_idle_wake_ups) throw PolicyError(starvation_message(state_));
      deliver(engine_event(EventKind::DeadlineReached, {}));
    }
    while (streams_.next_arrival() == reached) {
      idle_wake_ups_ = 0;
      const ApplicationId arrived = streams_.arrive();
      deliver(engine_event(EventKind::ApplicationArrived, arrived));
      start_next(arrived);
    }
    update_deadline();
  }

  /// A resident block will end by itself, however often the policy wakes up until then.
  bool nothing_resident() const {
    return std::ranges::all_of(state_.running(),
                               [](const RunningLaunch& launch) { return launch.started == launch.done; });
  }

  /// An event that the engine itself observes, at the time of the last one or of the deadline just reached.
  Event engine_event(EventKind kind, ApplicationId application) const {
    return {.time = std::max(now_, state_.now()), .application = application, .kind = kind};
  }

  Gpu& gpu_;
  Policy& policy_;
  std::span<RunObserver* const> observers_;
  State state_;
  ApplicationStreams streams_;
  std::optional<Time> wake_at_;
  std::optional<Time> deadline_;  // the next arrival or wake_at_, whichever comes first
  Time now_{};
  int idle_wake_ups_ = 0;
};

}  // namespace

void run(Gpu& gpu, Policy& policy, const Workload& workload, std::span<RunObserver* const> observers) {
  validate(workload, gpu.device());
  Engine(gpu, policy, workload, observers).run();
}

std::vector<Decision> decide_again(const Trace& trace, const Device& device, const Workload& workload, Policy& policy) {
  State state(device, workload);
  std::vector<Decision> decisions;
  for (std::size_t position = 0; position < trace.events.size(); ++position) {
    const Event& event = trace.events[position];
    state.require_known(event);
    state.update(event);
    policy.observe(event, state);
    if (!state.running().empty() && policy.wants(event)) decisions.push_back({position, policy.decide(state)});
  }
  return decisions;
}

}  // namespace gpushare
