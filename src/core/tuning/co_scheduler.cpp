// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/co_scheduler.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/policy_support/ranking.hpp"

namespace gpushare {
namespace {

constexpr Duration longest_option{1'000'000'000};
constexpr double no_min_speed = -1;

}  // namespace

CoScheduleOptions CoScheduleOptions::from(const PolicyOptions& options) {
  const double min_speed = options.number("min_speed",
                                          "least speed of each application that asks for none itself; left out: half "
                                          "of an equal part, or none with equal_start=yes and equal weights",
                                          no_min_speed, 0, 1);
  return {
      .classifier = {.small = options.duration("small_ns", "launches that take less alone go first and move no other",
                                               Duration(30'000), Duration(0), longest_option),
                     .min_speed = min_speed == no_min_speed ? std::nullopt : std::optional(min_speed)},
      .sets = {.bounds = {.antt = options.number("antt", "bound of the mean slowdown; left out: none",
                                                 std::numeric_limits<double>::infinity(), 1, 1e9)},
               .is_conservative = options.word("equal_start",
                                               "where SMs serve their oldest blocks first: begin with an equal "
                                               "partition, and depart from it by measurement",
                                               {"yes", "no"}) == "yes",
               .probes = {.loss = options.number("probe_loss",
                                                 "share of the throughput that measuring other allocations may cost; "
                                                 "0: none is measured",
                                                 0.02, 0, 0.5),
                          .window = options.duration("probe_ns", "length of the first measuring window of a probe",
                                                     Duration(1'000'000), Duration(1000), longest_option)}},
      .patience = options.duration("patience_ns", "how long a slot is kept between two launches of an application",
                                   Duration(60'000), Duration(0), longest_option),
      .patience_with_latency_bound = options.duration(
          "reserve_ns", "how long a slot or SM headroom is kept for an application with a latency bound or a priority",
          Duration(5'000'000), Duration(0), longest_option)};
}

bool CoScheduler::may_change_schedule(const Event& event) {
  return event.kind == EventKind::LaunchArrived || event.kind == EventKind::LaunchEnded ||
         event.kind == EventKind::ApplicationEnded || event.kind == EventKind::DeadlineReached ||
         event.kind == EventKind::PriorityChanged;
}

void CoScheduler::observe(const Event& event, const State& state) {
  changed_ = false;
  is_affected_ = excluded_.observe(event);
  active_.observe(event, state);
  if (event.kind == EventKind::ApplicationEnded) forget(event.application);
  if (!is_affected_) return;
  follow_progress(event);
  guard_.observe(event);
  if (event.kind == EventKind::LaunchEnded) guard_.account(event, schedule_);
  if (may_change_schedule(event)) {
    schedule_ = {};  // launches that have ended are never named again, even if none runs now
    if (!state.running().empty()) reschedule(state);
  }
  if (event.kind == EventKind::BlockEnded || is_measurement_due(event)) tune(event.time, state.device());
  if (event.kind == EventKind::BlockEnded) continue_search(event.time);
}

/// Also where the latest launch of the application was excluded: earlier ones may not have been.
void CoScheduler::forget(ApplicationId application) {
  progress_.erase(application);
  guard_.forget(application);
}

void CoScheduler::reschedule(const State& state) {
  const CoRunSet* before = current_;
  const std::vector<ApplicationId> in_slots_before = std::exchange(in_slots_, {});
  const LaunchClassifier classifier(state, active_, catalogue_, options_.classifier);
  schedule_ = classifier.classify([this](OperationId launch) { return excluded_.contains(launch); });
  do {
    QosGuard::set_min_speeds(schedule_, sets_.is_conservative(state.device()));
    current_ = &sets_.find(schedule_, state.device());
  } while (drop_slot(state));
  for (const CoRunSlot& slot : schedule_.slots) in_slots_.push_back(slot.application);
  if (current_ != before || in_slots_ != in_slots_before) {
    current_->tuner.begin(state.now());
    guard_.restart(state.now());
  }
  raise_deficient(state.now(), state.device());
}

/// Where the slots do not fit side by side, the launch that arrived last is queued. Otherwise a launch with a latency
/// bound that cannot be kept side by side goes first on every SM, unless a search may still find how to keep it.
bool CoScheduler::drop_slot(const State& state) {
  std::vector<CoRunSlot>& slots = schedule_.slots;
  if (slots.size() < 2) return false;
  const bool does_not_fit = allocation().empty();
  auto dropped = slots.end();
  if (does_not_fit) {
    dropped = std::ranges::max_element(slots, {}, [&](const CoRunSlot& slot) {
      return slot.running ? state.find(*slot.running)->arrival : Time::max();
    });
  } else if (!current_->search) {
    dropped = QosGuard::find_broken_latency_bound(schedule_, estimate().speeds, has_measured());
  }
  if (dropped == slots.end()) return false;
  if (dropped->running) (does_not_fit ? schedule_.queued : schedule_.first).push_back(*dropped->running);
  slots.erase(dropped);
  return true;
}

void CoScheduler::raise_deficient(Time now, const Device& device) {
  const SmAllocation before = allocation();
  for (std::size_t i = 0; i < schedule_.slots.size(); ++i) {
    const CoRunSlot& slot = schedule_.slots[i];
    if (slot.min_speed.value_or(0) > 0) current_->tuner.require(i, guard_.speed_to_ask_for(slot), now, device);
  }
  if (!same_allocation(before, allocation())) guard_.restart(now);
}

/// The result of a search replaces the allocation as long as nothing has been measured, and where bounds are broken;
/// else it is a candidate for a probe. What it replaces becomes a candidate then. No probes where a speed was promised.
void CoScheduler::continue_search(Time now) {
  if (current_ == nullptr || !current_->search || now < next_search_step_) return;
  next_search_step_ = now + Tuning::between_search_steps;
  std::optional<AllocationChoice> choice = current_->search->step();
  if (!choice) return;
  current_->search.reset();
  if (same_allocation(choice->allocation, current_->predicted.allocation)) return;
  const Bounds& bounds = options_.sets.bounds;
  const bool promises_more = choice->estimate.value(bounds) > estimate().value(bounds);
  const bool may_probe = !QosGuard::has_promises(schedule_);
  if (has_measured() && (estimate().keeps(bounds) || !promises_more)) {
    if (may_probe) current_->tuner.suggest(choice->allocation, now);
    return;
  }
  current_->tuner = sets_.tuner_from(choice->allocation, schedule_);
  if (may_probe) current_->tuner.suggest(current_->predicted.allocation, now);
  current_->tuner.begin(now);
  current_->predicted = std::move(*choice);
  current_->has_considered_serial = false;  // it is to be compared with this
  guard_.restart(now);
  changed_ = true;
}

void CoScheduler::follow_progress(const Event& event) {
  const bool counts = event.kind == EventKind::LaunchArrived || event.kind == EventKind::BlockStarted ||
                      event.kind == EventKind::BlockEnded || event.kind == EventKind::LaunchEnded;
  if (counts) progress_.try_emplace(event.application, options_.patience).first->second.observe(event);
}

void CoScheduler::suggest_serial_execution(const Device& device, bool is_expected_to_be_better, Time now) {
  if (std::exchange(current_->has_considered_serial, true)) return;
  SmAllocation serial = serial_allocation(device, schedule_.contenders());
  if (is_expected_to_be_better && !has_measured()) {
    current_->tuner = sets_.tuner_from(serial, schedule_);
    current_->tuner.begin(now);
  } else {
    current_->tuner.suggest(std::move(serial), now);
  }
}

bool CoScheduler::is_serial() const {
  return current_ != nullptr && gpushare::is_serial(allocation(), schedule_.contenders());
}

void CoScheduler::set_in_force(bool is_in_force, Time now) {
  const bool was_in_force = std::exchange(is_in_force_, is_in_force);
  if (current_ == nullptr) return;
  if (!is_in_force) {
    current_->tuner.pause(now);
  } else if (!was_in_force) {
    current_->tuner.begin(now);
  }
}

/// Not while another plan is in force, nor after an application in a slot has ended with an excluded launch.
bool CoScheduler::can_measure() const {
  return is_in_force_ && !schedule_.slots.empty() &&
         std::ranges::all_of(schedule_.slots,
                             [this](const CoRunSlot& slot) { return progress_.contains(slot.application); });
}

void CoScheduler::tune(Time now, const Device& device) {
  if (current_ == nullptr || current_->tuner.is_idle(now) || !can_measure()) return;
  std::vector<BlockProgress> progress;
  for (const CoRunSlot& slot : schedule_.slots) progress.push_back(progress_.at(slot.application));
  changed_ = current_->tuner.step(now, progress, device);
  if (!changed_) return;
  guard_.restart(now);
  for (std::size_t i = 0; i < schedule_.slots.size(); ++i) {
    double& rate = schedule_.slots[i].kernel->rate_alone;
    if (rate <= 0) rate = current_->tuner.rate_alone(i);
  }
}

/// nullopt where nothing can be measured before a block ends.
std::optional<Time> CoScheduler::next_measurement() const {
  return current_ != nullptr && can_measure() ? current_->tuner.wake_at() : std::nullopt;
}

bool CoScheduler::is_measurement_due(const Event& event) const {
  return event.kind == EventKind::DeadlineReached && next_measurement().value_or(Time::max()) <= event.time;
}

Plan CoScheduler::plan(const State& state) const {
  Plan plan;
  rank_behind(plan, schedule_.first, state);
  // A launch that fills shared SMs would keep the room for itself: it is ranked behind the others.
  for (const bool fills : {false, true}) {
    for (std::size_t i = 0; i < schedule_.slots.size(); ++i) {
      const CoRunSlot& slot = schedule_.slots[i];
      if (!slot.running) continue;
      if (fills_shared_sms(allocation(), i, slot.contender.max_residency) != fills) continue;
      plan.shares.push_back({.launch = *slot.running, .quota = quota_in(allocation(), i)});
    }
  }
  rank_behind(plan, schedule_.queued, state);
  plan.wake_at = active_.next_expiry(state.now());
  if (const auto next = next_measurement()) {
    plan.wake_at = std::max(state.now() + Duration(1), std::min(*next, plan.wake_at.value_or(*next)));
  }
  return plan;
}

}  // namespace gpushare
