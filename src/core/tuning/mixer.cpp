// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/mixer.hpp"

#include <algorithm>
#include <utility>

#include "core/policy_support/ranking.hpp"

namespace gpushare {
namespace {

/// Some 10 us of every 100 go into a search.
constexpr Duration between_thoughts(100'000);

/// Of whoever asks for none: half of an equal part of what the others' floors leave, which is taken to be a fifth at
/// least, so that nobody is starved by floors.
double usual_floor(std::size_t kernels, double asked) {
  return 0.5 / static_cast<double>(kernels) * std::max(1 - asked, 0.2);
}

}  // namespace

bool Mixer::is_occasion(const Event& event) {
  return event.kind == EventKind::LaunchArrived || event.kind == EventKind::LaunchEnded ||
         event.kind == EventKind::ApplicationEnded || event.kind == EventKind::DeadlineReached ||
         event.kind == EventKind::PriorityChanged;
}

/// Whoever comes and goes beside what is planned changes nothing about it.
bool Mixer::concerns(const Event& event) {
  switch (event.kind) {
    case EventKind::LaunchArrived:
    case EventKind::LaunchEnded:
      if (!left_out_.contains(event.operation)) {
        apart_.erase(event.application);
        return true;
      }
      apart_.insert(event.application);
      return false;
    case EventKind::BlockStarted:
    case EventKind::BlockEnded:
      return left_out_.empty() || !left_out_.contains(event.operation);
    case EventKind::ApplicationEnded:
      return apart_.erase(event.application) == 0;
    default:
      return true;
  }
}

void Mixer::observe(const Event& event, const State& state) {
  changed_ = false;
  concerns_it_ = concerns(event);
  attendance_.observe(event, state);
  if (event.kind == EventKind::LaunchEnded) left_out_.erase(event.operation);
  if (event.kind == EventKind::ApplicationEnded) forget(event.application);
  if (!concerns_it_) return;
  follow(event);
  arrears_.observe(event);
  if (event.kind == EventKind::LaunchEnded) settle(event);
  if (is_occasion(event)) {
    seating_ = {};  // who has ended is named no more, though nobody may be there to be seated
    if (!state.running().empty()) choose(state);
  }
  if (event.kind == EventKind::BlockEnded || is_time_to_look(event)) refine(event.time, state.device());
  if (event.kind == EventKind::BlockEnded) think(event.time, state.device());
}

/// Its latest launch may have been left out, and others before it not.
void Mixer::forget(ApplicationId application) {
  progress_.erase(application);
  arrears_.forget(application);
}

void Mixer::choose(const State& state) {
  const Known* before = known_one_;
  const std::vector<ApplicationId> seated_before = std::exchange(seated_, {});
  seating_ = seated(state, left_out_, attendance_, catalogue_, options_.seating);
  do {
    set_floors(state.device());
    known_one_ = &known_for(state.device());
  } while (give_up_a_seat(state));
  for (const Seat& seat : seating_.seats) seated_.push_back(seat.application);
  if (known_one_ != before || seated_ != seated_before) {
    known_one_->refinement.begin(state.now());
    arrears_.restart(state.now());
  }
  give_more_to_who_lacks(state.now(), state.device());
}

void Mixer::settle(const Event& ended) {
  const auto seat = std::ranges::find(seating_.seats, ended.application, &Seat::application);
  if (seat == seating_.seats.end() || seat->floor.value_or(0) <= 0 || seat->as_written <= 0) return;
  arrears_.add(ended, seat->as_written, *seat->floor);
}

void Mixer::give_more_to_who_lacks(Time now, const Device& device) {
  const Division before = division();
  for (std::size_t i = 0; i < seating_.seats.size(); ++i) {
    const Seat& seat = seating_.seats[i];
    if (seat.floor.value_or(0) <= 0) continue;
    const double asked = std::min(1.0, seat.contender.floor * arrears_.factor(seat.application));
    known_one_->refinement.ask(i, asked, now, device);
  }
  if (!same_division(before, division())) arrears_.restart(now);
}

/// Where so many cannot run side by side, who came last waits. Whose latency bound cannot be kept side by side goes
/// first, unless a search may still find how.
bool Mixer::give_up_a_seat(const State& state) {
  std::vector<Seat>& seats = seating_.seats;
  if (seats.size() < 2) return false;
  auto given_up = seats.end();
  if (division().empty()) {
    given_up = std::ranges::max_element(
        seats, {}, [&](const Seat& seat) { return seat.running ? state.find(*seat.running)->arrival : Time::max(); });
  } else if (!known_one_->search) {
    const std::vector<double>& speeds = outlook().speeds;
    given_up = std::ranges::find_if(seats, [&](const Seat& seat) {
      const auto place = static_cast<std::size_t>(&seat - seats.data());
      // What is measured has the way to the GPU and the last wave in it.
      const double time = has_measured() ? seat.time_in_all : seat.time_for_it;
      return place < speeds.size() && seat.has_latency_bound() && speeds[place] < seat.alone / time;
    });
  }
  if (given_up == seats.end()) return false;
  if (given_up->running) {
    (division().empty() ? seating_.waiting : seating_.first).push_back(*given_up->running);
  }
  seats.erase(given_up);
  return true;
}

/// To the cautious, equal parts are kind enough where nobody asks for a floor: that they break one is no more than a
/// prediction. Where somebody counts for more than others the best sum is not equal parts: it may starve these.
void Mixer::set_floors(const Device& device) {
  double asked = 0;
  for (const Seat& seat : seating_.seats) asked += seat.least_speed().value_or(0);
  const auto is_as_heavy = [&](const Seat& seat) {
    return seat.contender.weight == seating_.seats.front().contender.weight;
  };
  const bool are_equal = asked <= 0 && std::ranges::all_of(seating_.seats, is_as_heavy);
  const double unasked = are_equal && is_cautious(device) ? 0 : usual_floor(seating_.seats.size(), asked);
  for (Seat& seat : seating_.seats) seat.contender.floor = seat.least_speed().value_or(unasked);
}

/// What a search has come to is believed until something has been measured, and where floors or a bound are not kept;
/// else it is tried. What it replaces is tried then. Neither is where somebody has been promised something.
void Mixer::think(Time now, const Device& device) {
  if (known_one_ == nullptr || !known_one_->search || now < next_thought_) return;
  next_thought_ = now + between_thoughts;
  std::optional<Choice> choice = known_one_->search->think();
  if (!choice) return;
  known_one_->search.reset();
  if (same_division(choice->division, known_one_->predicted.division)) return;
  const bool promises_more = choice->outlook.value(bounds()) > outlook().value(bounds());
  if (has_measured() && (outlook().keeps(bounds()) || !promises_more)) {
    if (may_experiment()) known_one_->refinement.suggest(choice->division, now);
    return;
  }
  known_one_->refinement = refinement_from(device, choice->division);
  if (may_experiment()) known_one_->refinement.suggest(known_one_->predicted.division, now);
  known_one_->refinement.begin(now);
  known_one_->predicted = std::move(*choice);
  known_one_->considers_turns = false;  // they are to be compared with this
  arrears_.restart(now);
  changed_ = true;
}

void Mixer::follow(const Event& event) {
  const bool counts = event.kind == EventKind::LaunchArrived || event.kind == EventKind::BlockStarted ||
                      event.kind == EventKind::BlockEnded || event.kind == EventKind::LaunchEnded;
  if (counts) progress_.try_emplace(event.application, options_.patience).first->second.observe(event);
}

void Mixer::consider_turns(const Device& device, bool is_expected_to_be_better, Time now) {
  if (std::exchange(known_one_->considers_turns, true)) return;
  Division turns = in_turns(device, contenders());
  if (is_expected_to_be_better && !has_measured()) {
    known_one_->refinement = refinement_from(device, turns);
    known_one_->refinement.begin(now);
  } else {
    known_one_->refinement.suggest(std::move(turns), now);
  }
}

bool Mixer::takes_turns() const { return known_one_ != nullptr && gpushare::takes_turns(division(), contenders()); }

void Mixer::heed(bool is_in_force, Time now) {
  const bool was_in_force = std::exchange(is_in_force_, is_in_force);
  if (known_one_ == nullptr) return;
  if (!is_in_force) {
    known_one_->refinement.pause(now);
  } else if (!was_in_force) {
    known_one_->refinement.begin(now);
  }
}

/// Not while plans are made otherwise, nor where somebody has ended beside what is planned.
bool Mixer::can_measure() const {
  return is_in_force_ && !seating_.seats.empty() &&
         std::ranges::all_of(seating_.seats, [this](const Seat& seat) { return progress_.contains(seat.application); });
}

void Mixer::refine(Time now, const Device& device) {
  if (known_one_ == nullptr || known_one_->refinement.is_idle(now) || !can_measure()) return;
  at_seats_.clear();
  for (const Seat& seat : seating_.seats) at_seats_.push_back(progress_.at(seat.application));
  changed_ = known_one_->refinement.look(now, at_seats_, device);
  if (!changed_) return;
  arrears_.restart(now);
  for (std::size_t i = 0; i < seating_.seats.size(); ++i) {
    double& rate = seating_.seats[i].kernel->rate_alone;
    if (rate <= 0) rate = known_one_->refinement.alone(i);
  }
}

const Outlook& Mixer::outlook() const {
  const auto& measured = known_one_->refinement.measured();
  return measured ? *measured : known_one_->predicted.outlook;
}

std::vector<Contender> Mixer::contenders() const {
  std::vector<Contender> contenders;
  for (const Seat& seat : seating_.seats) contenders.push_back(seat.contender);
  return contenders;
}

/// Nobody has been promised anything that experiments might break.
bool Mixer::may_experiment() const {
  return std::ranges::none_of(seating_.seats, [](const Seat& seat) { return seat.least_speed().has_value(); });
}

/// nullopt where there is nothing to be seen before a block ends.
std::optional<Time> Mixer::next_look() const {
  return known_one_ != nullptr && can_measure() ? known_one_->refinement.wake_at() : std::nullopt;
}

bool Mixer::is_time_to_look(const Event& event) const {
  return event.kind == EventKind::DeadlineReached && next_look().value_or(Time::max()) <= event.time;
}

Plan Mixer::plan(const State& state) const {
  Plan plan;
  rank_behind(plan, seating_.first, state);
  // Who fills shared SMs would keep the room for himself: he comes last.
  for (const bool fills : {false, true}) {
    for (std::size_t i = 0; i < seating_.seats.size(); ++i) {
      const Seat& seat = seating_.seats[i];
      if (!seat.running) continue;
      if (holds_shared_room(division(), i, seat.contender.max_residency) != fills) continue;
      plan.shares.push_back({.launch = *seat.running, .quota = quota_in(division(), i)});
    }
  }
  rank_behind(plan, seating_.waiting, state);
  plan.wake_at = attendance_.next_loss(state.now());
  if (const auto look = next_look()) {
    plan.wake_at = std::max(state.now() + Duration(1), std::min(*look, plan.wake_at.value_or(*look)));
  }
  return plan;
}

}  // namespace gpushare
