// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "core/engine/admission.hpp"
#include "core/engine/application_streams.hpp"
#include "core/engine/devices/whereabouts.hpp"
#include "core/engine/dispatcher.hpp"
#include "core/engine/ordered_dispatch.hpp"
#include "core/engine/plan_check.hpp"
#include "core/engine/trace_check.hpp"
#include "core/model/errors.hpp"
#include "core/model/move_time.hpp"

namespace gpushare {
namespace {

/// After so many wake-ups in a row without any other event the policy waits for something that cannot happen.
constexpr int most_idle_wake_ups = 100'000;

/// One device, and what schedules it.
struct DevicePart {
  DevicePart(Gpu& gpu, const OnDevice& on, OperationSource& source)
      : workload(*on.workload),
        dispatcher(gpu, *on.policy, State(gpu.device(), *on.workload), on.observers),
        admission(*on.workload, gpu.device()),
        ordered(gpu, dispatcher, source, on.ordering) {}

  const Workload& workload;
  Dispatcher dispatcher;
  Admission admission;
  OrderedDispatch ordered;
};

class WorkloadEngine : private OperationSource {
 public:
  WorkloadEngine(GpuSet& gpus, std::span<const OnDevice> devices, std::vector<PlacementDevice> known,
                 Placement& placement)
      : gpus_(gpus),
        placement_(placement),
        known_(std::move(known)),
        streams_(*devices.front().workload),
        hosts_(devices.front().workload->applications.size()),
        placed_(devices.front().workload->applications.size()) {
    for (std::size_t device = 0; device < devices.size(); ++device) {
      parts_.emplace_back(gpus.at(static_cast<DeviceId>(device)), devices[device],
                          static_cast<OperationSource&>(*this));
    }
  }

  void run() {
    while (!streams_.finished()) {
      if (const auto next = gpus_.next_event(deadline())) {
        idle_wake_ups_ = 0;
        part(next->device).dispatcher.deliver(next->event);
        for (DevicePart& other : parts_) {
          if (&other != &part(next->device)) other.dispatcher.advance_to(next->event.time);
        }
        advance(next->event);
      } else {
        reach_deadline();
      }
      for (DevicePart& each : parts_) each.ordered.let_go();
    }
  }

 private:
  DevicePart& part(DeviceId device) { return parts_[index(device)]; }
  DevicePart& part_of(ApplicationId application) { return part(placed_.device_of(application)); }

  /// The earliest of the next arrival, the next operation that a host issues, the end of a move, and a policy's
  /// wake-up.
  std::optional<Time> deadline() const {
    std::optional<Time> first = streams_.next_arrival();
    const auto consider = [&](Time time) { first = first ? std::min(*first, time) : time; };
    for (const DevicePart& each : parts_) {
      if (const std::optional<Time> wake_at = each.dispatcher.wake_at()) consider(*wake_at);
    }
    if (!issued_later_.empty()) consider(issued_later_.begin()->first);
    if (const std::optional<Time> move_end = placed_.next_move_end()) consider(*move_end);
    return first;
  }

  /// The end of an operation starts the next one of its application.
  void advance(const Event& event) {
    if (event.kind == EventKind::LaunchEnded || event.kind == EventKind::CopyEnded) start_next(event.application);
  }

  void start_next(ApplicationId application) {
    if (leaves(application)) return;
    if (auto submission = streams_.next(application)) return issue(there(*submission));
    DevicePart& part = part_of(application);
    part.dispatcher.deliver(EventKind::ApplicationEnded, application);
    part.ordered.ended(application);
    part.admission.leave(application);
    placed_.leave(application);
    place();
    start_admitted(part);
  }

  /// The operation as it is on the application's device.
  Submission there(Submission submission) {
    const Application& application =
        part_of(submission.application).workload.applications[index(submission.application)];
    submission.operation = &application.operations[streams_.given(submission.application) - 1];
    return submission;
  }

  /// Issues the operation at once, or when the application's host gets to it.
  void issue(const Submission& submission) {
    DevicePart& part = part_of(submission.application);
    const Time now = part.dispatcher.now();
    const Time ready = hosts_.ready(submission.application, pace_of(*submission.operation), now);
    if (ready <= now) return part.ordered.offer(submission);
    issued_later_.emplace(ready, submission);
  }

  /// Nothing where the application's host may issue the operation later, or the application is about to be moved.
  std::optional<Submission> following(ApplicationId application) override {
    Whereabouts& place = placed_.at(application);
    auto next = streams_.peek(application);
    if (!next || pace_of(*next->operation) != HostPace{} || place.wanted != place.device) return std::nullopt;
    place.next_is_announced = true;
    const Application& stream = part_of(application).workload.applications[index(application)];
    next->operation = &stream.operations[streams_.given(application)];
    return next;
  }

  /// Starts waiting applications as long as their memory fits.
  void start_admitted(DevicePart& part) {
    while (const auto application = part.admission.admit()) {
      placed_.at(*application).has_memory = true;
      hosts_.start(*application, part.dispatcher.now());
      start_next(*application);
    }
  }

  void reach_deadline() {
    const std::optional<Time> reached = deadline();
    if (!reached) throw PolicyError(starvation());
    for (DevicePart& each : parts_) each.dispatcher.advance_to(*reached);
    for (DevicePart& each : parts_) {
      if (each.dispatcher.wake_at() == reached) wake_policy(each.dispatcher);
    }
    if (streams_.next_arrival() == reached) arrive(*reached);
    while (const auto move = placed_.end_move(*reached)) {
      idle_wake_ups_ = 0;
      come(*move);
    }
    while (!issued_later_.empty() && issued_later_.begin()->first == reached) {
      idle_wake_ups_ = 0;
      const Submission submission = issued_later_.extract(issued_later_.begin()).mapped();
      part_of(submission.application).ordered.offer(submission);
    }
  }

  /// All that arrive now are placed together, and then start one after the other.
  void arrive(Time now) {
    idle_wake_ups_ = 0;
    std::vector<ApplicationId> arrived;
    while (streams_.next_arrival() == now) arrived.push_back(streams_.arrive());
    place(arrived);
    for (const ApplicationId application : arrived) join(application);
  }

  void join(ApplicationId application) {
    DevicePart& part = part_of(application);
    part.dispatcher.deliver(EventKind::ApplicationArrived, application);
    part.admission.arrive(application);
    start_admitted(part);
  }

  /// Asks where applications are to be. What has no memory yet goes there at once.
  void place(std::span<const ApplicationId> arrived = {}) {
    const std::vector<PresentApplication> present = placed_.present(streams_, parts_ended(), arrived);
    if (present.empty()) return;
    const std::vector<DeviceId> devices =
        placement_.decide({.now = parts_.front().dispatcher.now(), .devices = known_, .present = present});
    GPUSHARE_EXPECT(devices.size() == present.size(), "a placement has a device for every present application");
    std::vector<ApplicationId> placed_anew;
    for (std::size_t i = 0; i < present.size(); ++i) {
      const ApplicationId id = present[i].id;
      GPUSHARE_EXPECT(index(devices[i]) < parts_.size() && known_[index(devices[i])].can_run[index(id)],
                      "a placement puts an application on a device that can run it");
      Whereabouts& place = placed_.at(id);
      place.wanted = devices[i];
      if (!present[i].device) {
        placed_.arrive(id, devices[i]);
      } else if (!place.has_memory && place.device != place.wanted) {
        part_of(id).admission.forget(id);
        placed_anew.push_back(id);
      }
    }
    for (const ApplicationId id : placed_anew) {
      part_of(id).dispatcher.deliver(EventKind::ApplicationEnded, id);
      placed_.at(id).device = placed_.at(id).wanted;
      join(id);
    }
  }

  /// By application, which part of its launch has ended.
  std::vector<double> parts_ended() const {
    std::vector<double> ended(known_.front().can_run.size(), 0.0);
    for (const DevicePart& each : parts_) {
      for (const RunningLaunch& launch : each.dispatcher.state().running()) {
        ended[index(launch.application)] = static_cast<double>(launch.done) / static_cast<double>(launch.blocks());
      }
    }
    return ended;
  }

  /// Does the application, whose operation has just ended, leave its device? It takes memory on the other one at once.
  bool leaves(ApplicationId application) {
    Whereabouts& place = placed_.at(application);
    const bool is_promised = std::exchange(place.next_is_announced, false);
    if (is_promised || place.wanted == place.device || !streams_.peek(application)) return false;
    if (!part(place.wanted).admission.take(application)) return false;
    DevicePart& from = part_of(application);
    from.dispatcher.deliver(EventKind::ApplicationEnded, application);
    from.ordered.ended(application);
    const Duration time = move_time(gpus_.at(place.device).device(), gpus_.at(place.wanted).device(),
                                    from.workload.applications[index(application)].memory);
    placed_.move(application, from.dispatcher.now() + time);
    return true;
  }

  /// The application's memory has been copied.
  void come(const PlacedApplications::Move& move) {
    DevicePart& from = part(move.from);
    part_of(move.application).dispatcher.deliver(EventKind::ApplicationArrived, move.application);
    from.admission.leave(move.application);
    start_next(move.application);
    start_admitted(from);
  }

  void wake_policy(Dispatcher& dispatcher) {
    if (nothing_resident(dispatcher) && ++idle_wake_ups_ > most_idle_wake_ups) throw PolicyError(starvation());
    dispatcher.wake_policy();
  }

  /// A resident block will end, however often the policy wakes up until then.
  static bool nothing_resident(const Dispatcher& dispatcher) {
    return std::ranges::all_of(dispatcher.state().running(),
                               [](const RunningLaunch& launch) { return launch.started == launch.done; });
  }

  std::string starvation() const {
    const auto starved =
        std::ranges::find_if(parts_, [](const DevicePart& each) { return !each.dispatcher.state().running().empty(); });
    return starvation_message((starved != parts_.end() ? *starved : parts_.front()).dispatcher.state());
  }

  GpuSet& gpus_;
  Placement& placement_;
  std::vector<PlacementDevice> known_;
  std::deque<DevicePart> parts_;  // by DeviceId
  ApplicationStreams streams_;
  HostTimes hosts_;
  PlacedApplications placed_;
  std::multimap<Time, Submission> issued_later_;  // equal times in the order in which they came
  int idle_wake_ups_ = 0;
};

}  // namespace

void run(GpuSet& gpus, std::span<const OnDevice> devices, Placement& placement) {
  std::vector<const Device*> descriptions;
  std::vector<const Workload*> workloads;
  for (std::size_t device = 0; device < devices.size(); ++device) {
    descriptions.push_back(&gpus.at(static_cast<DeviceId>(device)).device());
    workloads.push_back(devices[device].workload);
  }
  std::vector<PlacementDevice> known = placement_devices(descriptions, workloads);
  for (const OnDevice& each : devices) {
    for (const Application& application : each.workload->applications) each.policy->check(application);
  }
  WorkloadEngine(gpus, devices, std::move(known), placement).run();
}

void run(Gpu& gpu, Policy& policy, const Workload& workload, std::span<RunObserver* const> observers,
         Ordering* ordering) {
  OneGpu gpus(gpu);
  OnFirstDevice placement;
  const OnDevice on{.policy = &policy, .workload = &workload, .observers = observers, .ordering = ordering};
  run(gpus, std::span(&on, 1), placement);
}

void run(Gpu& gpu, Policy& policy, const Workload& workload, std::span<RunObserver* const> observers) {
  run(gpu, policy, workload, observers, nullptr);
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
