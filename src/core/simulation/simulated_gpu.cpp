// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/simulated_gpu.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

const Device& validated(const Device& device) {
  validate(device);
  return device;
}

}  // namespace

SimulatedGpu::SimulatedGpu(const Device& device, std::uint64_t seed)
    : device_(validated(device)),
      seed_(seed),
      sms_(device),
      dispatch_(device.sms, nanoseconds(device.delays.block_dispatch)),
      ranks_(device.sms),
      copies_(device) {}

void SimulatedGpu::submit(const Submission& submission) {
  if (const auto* copy = std::get_if<Copy>(submission.operation)) {
    copies_.enqueue(submission);
    return start_copies(copy->direction);
  }
  const auto vacancy = successors_.take(submission);
  const double ready_at =
      vacancy ? std::max(clock_.now(), vacancy->free_at) : clock_.now() + nanoseconds(device_.delays.launch);
  ActiveLaunch& launch = launches_.add(submission, device_, seed_, ready_at);
  if (launch.launch.kernel.cost.off_sm.count > 0) sms_.use_off_sm();
  if (vacancy) ranks_.succeed(launch, *vacancy);
  timers_.add(ready_at, LaunchReady{});
}

// Between the last block and the end lies the same as for any launch.
void SimulatedGpu::withdraw(OperationId operation) {
  ActiveLaunch* launch = launches_.find(operation);
  if (launch == nullptr) return;
  successors_.forget(launch->application);
  if (launch->unstarted() == 0) return;
  launch->cut_short();
  dispatch_.look_everywhere();
  if (!launch->has_ended()) return;
  launches_.end(*launch);
  timers_.add(clock_.now() + nanoseconds(device_.delays.completion), LaunchDone{operation});
}

// The second of two plans at one instant replaces the first, as where a launch ends and its application's next one
// arrives.
void SimulatedGpu::apply(const Plan& plan) {
  const Duration delay = device_.delays.signal;
  SentPlan sent{.plan = plan, .at = clock_.now(), .launches = launches_.submitted()};
  if (delay == Duration::zero()) return make_effective(sent);
  if (!plans_on_their_way_.empty() && plans_on_their_way_.back().at == clock_.now()) {
    plans_on_their_way_.back() = std::move(sent);
    return;
  }
  plans_on_their_way_.push_back(std::move(sent));
  timers_.add(clock_.now() + nanoseconds(delay), PlanArrived{});
}

void SimulatedGpu::make_effective(const SentPlan& sent) {
  const auto come_back =
      ranks_.apply(sent.plan, sent.launches, [this](OperationId launch) { return launches_.find(launch); });
  for (ActiveLaunch* launch : come_back) {
    launch->ready_at = clock_.now() + nanoseconds(device_.delays.relaunch);
    timers_.add(launch->ready_at, LaunchReady{});
  }
  dispatch_.look_everywhere();
}

void SimulatedGpu::admit(OperationId operation) {
  ActiveLaunch* launch = launches_.find(operation);
  GPUSHARE_EXPECT(launch != nullptr, "what is admitted has been submitted");
  ranks_.admit(*launch);
  dispatch_.look_everywhere();
}

/// Nothing is left where another launch has no share: it may be the next one to get these SMs.
void SimulatedGpu::leave_to_successor(const ActiveLaunch& ended) {
  const double delay = nanoseconds(device_.delays.follow);
  if (delay == 0 || ended.is_admitted || !ended.may_be_followed(clock_.now(), nanoseconds(device_.delays.signal)) ||
      !ranks_.all_have_a_share(launches_.unended()))
    return;
  const RankedLaunches::Ranked* rank = ranks_.find(ended);
  if (rank == nullptr) return;
  successors_.leave(ended.application,
                    {.quota = rank->quota, .leaves_rest = rank->leaves_rest, .free_at = clock_.now() + delay});
}

std::optional<Time> SimulatedGpu::next_change() const {
  const double next = next_time();
  if (next == EarliestOf::never) return std::nullopt;
  return Time(Duration(std::llrint(std::ceil(next))));
}

std::vector<OperationId> SimulatedGpu::operations_at_work() const {
  std::vector<OperationId> operations;
  for (const ActiveLaunch* launch : launches_.unended()) {
    if (launch->started > launch->ended) operations.push_back(launch->id);
  }
  copies_.add_under_way(operations);
  return operations;
}

std::optional<Event> SimulatedGpu::next_event(std::optional<Time> deadline) {
  return next_event_within(deadline ? nanoseconds(*deadline) : EarliestOf::never);
}

std::optional<Event> SimulatedGpu::next_event_within(double limit) {
  if (pending_.empty() && !find_events(limit)) return std::nullopt;
  return pending_.take();
}

double SimulatedGpu::time_of_next_change() {
  if (pending_.empty()) settle();
  return pending_.empty() ? next_time() : clock_.now();
}

/// Moves on until there is something to report; false means that nothing happens up to the limit.
bool SimulatedGpu::find_events(double limit) {
  for (settle(); pending_.empty(); settle()) {
    const double next = next_time();
    if (next > limit || next == EarliestOf::never) {
      if (limit != EarliestOf::never) clock_.move_to(std::max(clock_.now(), limit));
      return false;
    }
    if (next > nanoseconds(latest_time)) {
      throw InvalidInput("this workload takes more than 200 years on device '" + device_.name + "'");
    }
    clock_.move_to(std::max(clock_.now(), next));
    if (timers_.time() > sms_.next_end()) {
      // No settling before the policy has seen the end: it may give the free room to another launch.
      end_block();
      return true;
    }
    carry_out(timers_.take());
    if (!pending_.empty()) return true;
  }
  return true;
}

void SimulatedGpu::carry_out(const Task& task) {
  if (const auto* due = std::get_if<DispatchDue>(&task)) {
    dispatch_.timer_ended(due->sm);
  } else if (std::holds_alternative<LaunchReady>(task)) {
    dispatch_.look_everywhere();
  } else if (const auto* done = std::get_if<LaunchDone>(&task)) {
    report_end_of(*launches_.find(done->launch));
  } else if (std::holds_alternative<PlanArrived>(task)) {
    make_effective(plans_on_their_way_.front());
    plans_on_their_way_.pop_front();
  } else {
    const Copy::Direction direction = std::get<CopyDone>(task).direction;
    copies_.end(direction, clock_.time(), pending_);
    start_copies(direction);
  }
}

void SimulatedGpu::start_copies(Copy::Direction direction) {
  if (const auto duration = copies_.start(direction, clock_.time(), pending_))
    timers_.add(clock_.now() + *duration, CopyDone{direction});
}

void SimulatedGpu::end_block() {
  const auto [sm, ended] = sms_.end_first(clock_.now());
  ActiveLaunch& launch = *ended.launch;
  launch.workers.end(sm, clock_.now());
  if (launch.first_end < 0) launch.first_end = clock_.now();
  pending_.add({.time = clock_.time(),
                .started = ended.started,
                .block = ended.block,
                .application = launch.application,
                .operation = launch.id,
                .sm = sm,
                .kind = EventKind::BlockEnded});
  if (launch.has_ended()) {
    launches_.end(launch);
    leave_to_successor(launch);
    const double delay = nanoseconds(device_.delays.completion);
    if (delay == 0) {
      report_end_of(launch);
    } else {
      timers_.add(clock_.now() + delay, LaunchDone{launch.id});
    }
  }
  dispatch_.look_at(sm);
}

void SimulatedGpu::report_end_of(ActiveLaunch& launch) {
  launch.workers.release();
  ranks_.remove(launch);
  pending_.add({.time = clock_.time(),
                .application = launch.application,
                .operation = launch.id,
                .kind = EventKind::LaunchEnded});
}

/// Brings the residents in line with the plan at this point in time, then the rates in line with the residents.
void SimulatedGpu::settle() {
  while (!dispatch_.is_done()) {
    if (dispatch_.take_everywhere()) {
      dispatch_everywhere();
    } else {
      for (const SmId sm : dispatch_.freed()) {
        while (dispatch_one(sm)) {
        }
        sms_.set_rates(sm, clock_.now());
      }
    }
    dispatch_.clear_freed();
  }
  sms_.share_bandwidth(clock_.now());
}

/// Breadth first, like the hardware: one block to every SM, then the next one.
void SimulatedGpu::dispatch_everywhere() {
  for (bool any = true; any;) {
    any = false;
    for (int sm = 0; sm < device_.sms; ++sm) any |= dispatch_one(static_cast<SmId>(sm));
  }
  for (int sm = 0; sm < device_.sms; ++sm) sms_.set_rates(static_cast<SmId>(sm), clock_.now());
}

bool SimulatedGpu::dispatch_one(SmId sm) {
  const RankedLaunches::Ranked* next = next_for(sm);
  if (next == nullptr) return false;
  if (!dispatch_.begin_block(sm, clock_.now())) {
    if (const auto open_at = dispatch_.ask_for_timer(sm)) timers_.add(*open_at, DispatchDue{sm});
    return false;
  }
  start_block(sm, *next);
  return true;
}

const RankedLaunches::Ranked* SimulatedGpu::next_for(SmId sm) {
  for (const RankedLaunches::Ranked& ranked : ranks_.all()) {
    const auto& [launch, quota, leaves_rest] = ranked;
    if (launch->unstarted() == 0 || clock_.now() < launch->ready_at) continue;
    const int limit = quota.at(sm);
    if (limit == 0) continue;
    // Held back by the plan: lower ranks may use the room. Held back by the SM: the room is kept for this launch.
    const int resident = sms_.resident(sm, *launch);
    if (resident >= limit) {
      if (limit < launch->max_residency || leaves_rest) continue;
      return nullptr;  // the register file's banks hold fewer blocks than its size would
    }
    if (!sms_.fits(sm, *launch)) return nullptr;
    if (launch->workers.has_one_more(sm, resident, clock_.now())) return &ranked;
    if (const auto topped_up = launch->workers.ask(sm, clock_.now())) timers_.add(*topped_up, DispatchDue{sm});
    return nullptr;
  }
  return nullptr;
}

void SimulatedGpu::start_block(SmId sm, const RankedLaunches::Ranked& ranked) {
  ActiveLaunch& launch = *ranked.launch;
  pending_.add({.time = clock_.time(),
                .started = clock_.time(),
                .block = launch.started,
                .application = launch.application,
                .operation = launch.id,
                .sm = sm,
                .kind = EventKind::BlockStarted});
  const int limit = std::min(ranked.quota.at(sm), launch.max_residency);
  launch.workers.start(sm, sms_.resident(sm, launch), limit, clock_.now());
  sms_.start(sm, launch, limit, clock_.now(), clock_.time());
  // A launch that has started its last block keeps no room on any SM.
  if (launch.unstarted() == 0 && ranks_.all().size() > 1) dispatch_.look_everywhere();
}

}  // namespace gpushare
