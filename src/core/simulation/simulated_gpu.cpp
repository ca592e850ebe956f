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
      sms_(static_cast<std::size_t>(device.sms), StreamingMultiprocessor(device.per_sm)),
      dispatch_(static_cast<std::size_t>(device.sms)),
      ends_(static_cast<std::size_t>(device.sms)),
      bandwidth_(device.off_sm),
      ranks_(device.sms),
      speeds_(device.per_sm.issue_order),
      copies_(device) {}

void SimulatedGpu::submit(const Submission& submission) {
  if (const auto* copy = std::get_if<Copy>(submission.operation)) {
    copies_.enqueue(submission);
    return start_copies(copy->direction);
  }
  if (launches_.size() <= index(submission.id)) launches_.resize(index(submission.id) + 1);
  const auto vacancy = successors_.take(submission);
  const double ready_at = vacancy ? std::max(now_, vacancy->free_at) : now_ + nanoseconds(device_.delays.launch);
  auto& launch = launches_[index(submission.id)];
  launch = std::make_unique<ActiveLaunch>(submission, submitted_++, device_, seed_, ready_at);
  uses_off_sm_ = uses_off_sm_ || launch->launch.kernel.cost.off_sm.count > 0;
  unended_.push_back(launch.get());
  if (vacancy) ranks_.succeed(*launch, *vacancy);
  timers_.add(ready_at, LaunchReady{});
}

// Between the last block and the end lies the same as for any launch.
void SimulatedGpu::withdraw(OperationId operation) {
  ActiveLaunch* launch = find(operation);
  if (launch == nullptr) return;
  successors_.forget(launch->application);
  if (launch->unstarted() == 0) return;
  launch->cut_short();
  dispatch_all_ = true;
  if (!launch->has_ended()) return;
  std::erase(unended_, launch);
  timers_.add(now_ + nanoseconds(device_.delays.completion), LaunchDone{operation});
}

// The second of two plans at one instant replaces the first, as where a launch ends and its application's next one
// arrives.
void SimulatedGpu::apply(const Plan& plan) {
  const Duration delay = device_.delays.signal;
  SentPlan sent{.plan = plan, .at = now_, .launches = submitted_};
  if (delay == Duration::zero()) return make_effective(sent);
  if (!plans_on_their_way_.empty() && plans_on_their_way_.back().at == now_) {
    plans_on_their_way_.back() = std::move(sent);
    return;
  }
  plans_on_their_way_.push_back(std::move(sent));
  timers_.add(now_ + nanoseconds(delay), PlanArrived{});
}

void SimulatedGpu::make_effective(const SentPlan& sent) {
  const auto come_back = ranks_.apply(sent.plan, sent.launches, [this](OperationId launch) { return find(launch); });
  for (ActiveLaunch* launch : come_back) {
    launch->ready_at = now_ + nanoseconds(device_.delays.relaunch);
    timers_.add(launch->ready_at, LaunchReady{});
  }
  dispatch_all_ = true;
}

void SimulatedGpu::admit(OperationId operation) {
  ActiveLaunch* launch = find(operation);
  GPUSHARE_EXPECT(launch != nullptr, "what is admitted has been submitted");
  ranks_.admit(*launch);
  dispatch_all_ = true;
}

/// Nothing is left where another launch has no share: it may be the next one to get these SMs.
void SimulatedGpu::leave_to_successor(const ActiveLaunch& ended) {
  const double delay = nanoseconds(device_.delays.follow);
  if (delay == 0 || ended.is_admitted || !ended.may_be_followed(now_, nanoseconds(device_.delays.signal)) ||
      !ranks_.all_have_a_share(unended_))
    return;
  const RankedLaunches::Ranked* rank = ranks_.find(ended);
  if (rank == nullptr) return;
  successors_.leave(ended.application,
                    {.quota = rank->quota, .leaves_rest = rank->leaves_rest, .free_at = now_ + delay});
}

std::optional<Time> SimulatedGpu::next_change() const {
  const double next = std::min(ends_.time(), timers_.time());
  if (next == EarliestOf::never) return std::nullopt;
  return Time(Duration(std::llrint(std::ceil(next))));
}

std::vector<OperationId> SimulatedGpu::operations_at_work() const {
  std::vector<OperationId> operations;
  for (const ActiveLaunch* launch : unended_) {
    if (launch->started > launch->ended) operations.push_back(launch->id);
  }
  copies_.add_under_way(operations);
  return operations;
}

ActiveLaunch* SimulatedGpu::find(OperationId launch) const {
  return index(launch) < launches_.size() ? launches_[index(launch)].get() : nullptr;
}

std::optional<Event> SimulatedGpu::next_event(std::optional<Time> deadline) {
  return next_event_within(deadline ? nanoseconds(*deadline) : EarliestOf::never);
}

std::optional<Event> SimulatedGpu::next_event_within(double limit) {
  if (delivered_ == pending_.size() && !find_events(limit)) return std::nullopt;
  return pending_[delivered_++];
}

double SimulatedGpu::time_of_next_change() {
  if (delivered_ == pending_.size()) {
    pending_.clear();
    delivered_ = 0;
    settle();
  }
  return pending_.empty() ? std::min(ends_.time(), timers_.time()) : now_;
}

/// Moves on until there is something to report; false means that nothing happens up to the limit.
bool SimulatedGpu::find_events(double limit) {
  pending_.clear();
  delivered_ = 0;
  for (settle(); pending_.empty(); settle()) {
    const double next = std::min(ends_.time(), timers_.time());
    if (next > limit || next == EarliestOf::never) {
      if (limit != EarliestOf::never) move_to(std::max(now_, limit));
      return false;
    }
    if (next > nanoseconds(latest_time)) {
      throw InvalidInput("this workload takes more than 200 years on device '" + device_.name + "'");
    }
    move_to(std::max(now_, next));
    if (timers_.time() > ends_.time()) {
      // No settling before the policy has seen the end: it may give the free room to another launch.
      end_block();
      return true;
    }
    carry_out(timers_.take());
    if (!pending_.empty()) return true;
  }
  return true;
}

void SimulatedGpu::move_to(double now) {
  now_ = now;
  time_ = Time(Duration(std::llrint(now)));
}

void SimulatedGpu::carry_out(const Task& task) {
  if (const auto* due = std::get_if<DispatchDue>(&task)) {
    dispatch_[index(due->sm)].due = false;
    freed_.push_back(due->sm);
  } else if (std::holds_alternative<LaunchReady>(task)) {
    dispatch_all_ = true;
  } else if (const auto* done = std::get_if<LaunchDone>(&task)) {
    report_end_of(*find(done->launch));
  } else if (std::holds_alternative<PlanArrived>(task)) {
    make_effective(plans_on_their_way_.front());
    plans_on_their_way_.pop_front();
  } else {
    const Copy::Direction direction = std::get<CopyDone>(task).direction;
    copies_.end(direction, time_, pending_);
    start_copies(direction);
  }
}

void SimulatedGpu::start_copies(Copy::Direction direction) {
  if (const auto duration = copies_.start(direction, time_, pending_))
    timers_.add(now_ + *duration, CopyDone{direction});
}

void SimulatedGpu::end_block() {
  const auto sm = static_cast<SmId>(ends_.position());
  const auto ended = sms_[index(sm)].end_first(now_);
  ActiveLaunch& launch = *ended.launch;
  launch.workers.end(sm, now_);
  if (launch.first_end < 0) launch.first_end = now_;
  pending_.push_back({.time = time_,
                      .started = ended.started,
                      .block = ended.block,
                      .application = launch.application,
                      .operation = launch.id,
                      .sm = sm,
                      .kind = EventKind::BlockEnded});
  if (launch.has_ended()) {
    std::erase(unended_, &launch);
    leave_to_successor(launch);
    const double delay = nanoseconds(device_.delays.completion);
    if (delay == 0) {
      report_end_of(launch);
    } else {
      timers_.add(now_ + delay, LaunchDone{launch.id});
    }
  }
  freed_.push_back(sm);
}

void SimulatedGpu::report_end_of(ActiveLaunch& launch) {
  launch.workers.release();
  ranks_.remove(launch);
  pending_.push_back(
      {.time = time_, .application = launch.application, .operation = launch.id, .kind = EventKind::LaunchEnded});
}

/// Brings the residents in line with the plan at this point in time, then the rates in line with the residents.
void SimulatedGpu::settle() {
  while (dispatch_all_ || !freed_.empty()) {
    if (dispatch_all_) {
      dispatch_everywhere();
    } else {
      for (const SmId sm : freed_) {
        while (dispatch_one(sm)) {
        }
        rates_changed_ |= set_rates(sm);
      }
    }
    freed_.clear();
  }
  if (rates_changed_ && uses_off_sm_) share_bandwidth();
  rates_changed_ = false;
}

/// Breadth first, like the hardware: one block to every SM, then the next one.
void SimulatedGpu::dispatch_everywhere() {
  dispatch_all_ = false;
  for (bool any = true; any;) {
    any = false;
    for (int sm = 0; sm < device_.sms; ++sm) any |= dispatch_one(static_cast<SmId>(sm));
  }
  for (int sm = 0; sm < device_.sms; ++sm) rates_changed_ |= set_rates(static_cast<SmId>(sm));
}

bool SimulatedGpu::dispatch_one(SmId sm) {
  const RankedLaunches::Ranked* next = next_for(sm);
  if (next == nullptr) return false;
  const double interval = nanoseconds(device_.delays.block_dispatch);
  if (interval > 0) {
    SmDispatch& dispatch = dispatch_[index(sm)];
    if (now_ < dispatch.open_at) {
      if (!dispatch.due) timers_.add(dispatch.open_at, DispatchDue{sm});
      dispatch.due = true;
      return false;
    }
    dispatch.open_at = now_ + interval;
  }
  start_block(sm, *next);
  return true;
}

const RankedLaunches::Ranked* SimulatedGpu::next_for(SmId sm) {
  for (const RankedLaunches::Ranked& ranked : ranks_.all()) {
    const auto& [launch, quota, leaves_rest] = ranked;
    if (launch->unstarted() == 0 || now_ < launch->ready_at) continue;
    const int limit = quota.at(sm);
    if (limit == 0) continue;
    // Held back by the plan: lower ranks may use the room. Held back by the SM: the room is kept for this launch.
    const int resident = sms_[index(sm)].resident(*launch);
    if (resident >= limit) {
      if (limit < launch->max_residency || leaves_rest) continue;
      return nullptr;  // the register file's banks hold fewer blocks than its size would
    }
    if (!sms_[index(sm)].fits(*launch)) return nullptr;
    if (launch->workers.has_one_more(sm, resident, now_)) return &ranked;
    if (const auto topped_up = launch->workers.ask(sm, now_)) timers_.add(*topped_up, DispatchDue{sm});
    return nullptr;
  }
  return nullptr;
}

void SimulatedGpu::start_block(SmId sm, const RankedLaunches::Ranked& ranked) {
  ActiveLaunch& launch = *ranked.launch;
  pending_.push_back({.time = time_,
                      .started = time_,
                      .block = launch.started,
                      .application = launch.application,
                      .operation = launch.id,
                      .sm = sm,
                      .kind = EventKind::BlockStarted});
  const int limit = std::min(ranked.quota.at(sm), launch.max_residency);
  launch.workers.start(sm, sms_[index(sm)].resident(launch), limit, now_);
  sms_[index(sm)].start(launch, limit, now_, time_);
  // A launch that has started its last block keeps no room on any SM.
  if (launch.unstarted() == 0 && ranks_.all().size() > 1) dispatch_all_ = true;
}

/// Has the mix of resident blocks, and with it any rate, changed?
bool SimulatedGpu::set_rates(SmId id) {
  StreamingMultiprocessor& sm = sms_[index(id)];
  const bool changed = sm.needs_rates();
  if (changed) {
    sm.advance(now_);
    sm.drop_empty_groups();
    const SmSpeeds& speeds = speeds_.of(sm);
    for (std::size_t kind = 0; kind < sm.groups().size(); ++kind) {
      sm.groups()[kind].set_block_time(speeds.block_times[kind], speeds.waits[kind]);
    }
  }
  schedule(id);
  return changed;
}

void SimulatedGpu::share_bandwidth() {
  const auto changed = bandwidth_.share(sms_, now_);
  for (const std::size_t sm : changed) ends_.set_later(sm, sms_[sm].find_next_end());
  if (!changed.empty()) ends_.rebuild();
}

}  // namespace gpushare
