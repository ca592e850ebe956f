// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/mixer.hpp"

#include <algorithm>

#include "core/policy.hpp"

namespace gpushare {
namespace {

constexpr double longest_us = 1e6;
constexpr double equal_part = -1;

/// Half of what an equal part of the time would be.
double usual_floor(std::size_t kernels) { return 0.5 / static_cast<double>(kernels); }

Duration microseconds(double count) { return Duration(static_cast<Duration::rep>(count * 1e3)); }

}  // namespace

MixOptions MixOptions::from(const PolicyOptions& options) {
  return {.floor = options.number("floor", equal_part, 0, 1),
          .antt = options.number("antt", std::numeric_limits<double>::infinity(), 1, 1e9),
          .patience = microseconds(options.number("patience_us", 60, 0, longest_us)),
          .small = microseconds(options.number("small_us", 30, 0, longest_us))};
}

bool Mixer::wants(const Event& event) {
  return event.kind == EventKind::LaunchArrived || event.kind == EventKind::LaunchEnded ||
         event.kind == EventKind::ApplicationEnded || event.kind == EventKind::DeadlineReached;
}

void Mixer::observe(const Event& event, const State& state) {
  attendance_.observe(event, state);
  if (wants(event) && !state.running().empty()) choose(state);
}

/// Where so many cannot run side by side, the last ones wait.
void Mixer::choose(const State& state) {
  seating_ = seated(state, attendance_, catalogue_, options_.small);
  for (choice_ = &choice_for(state.device()); choice_->division.empty() && seating_.seats.size() > 1;
       choice_ = &choice_for(state.device())) {
    const Seat last = seating_.seats.back();
    seating_.seats.pop_back();
    if (last.running != nullptr) seating_.waiting.push_back(last.running);
  }
}

const Choice& Mixer::choice_for(const Device& device) {
  Company company;
  for (const Seat& seat : seating_.seats) company.emplace_back(seat.kernel->number, seat.contender.weight);
  const auto known = known_.find(company);
  if (known != known_.end()) return known->second;
  return known_.emplace(std::move(company), search(device)).first->second;
}

Choice Mixer::search(const Device& device) const {
  std::vector<Contender> contenders;
  bool are_profiled = true;
  for (const Seat& seat : seating_.seats) {
    contenders.push_back(seat.contender);
    are_profiled = are_profiled && seat.kernel->kernel.is_profiled;
  }
  if (contenders.empty()) return {};
  if (contenders.size() == 1) return {.division = {{.sms = device.sms, .blocks = {contenders[0].max_residency}}}};
  if (!are_profiled) return {.division = proportional_division(device, contenders)};
  const double floor = options_.floor == equal_part ? usual_floor(contenders.size()) : options_.floor;
  return best_division(Forecast(device, contenders), {.floor = floor, .antt = options_.antt});
}

Plan Mixer::plan(const State& state) const {
  Plan plan;
  for (const RunningLaunch* launch : seating_.first) plan.shares.push_back(full_share(*launch));
  // Who fills shared SMs would keep the room for himself: he comes last.
  for (const bool fills : {false, true}) {
    for (std::size_t i = 0; i < seating_.seats.size(); ++i) {
      const Seat& seat = seating_.seats[i];
      if (seat.running == nullptr) continue;
      if (holds_shared_room(choice_->division, i, seat.contender.max_residency) != fills) continue;
      plan.shares.push_back({.launch = seat.running->id, .quota = quota_in(choice_->division, i)});
    }
  }
  for (const RunningLaunch* launch : seating_.waiting) plan.shares.push_back(full_share(*launch));
  plan.wake_at = attendance_.next_loss(state.now());
  return plan;
}

}  // namespace gpushare
