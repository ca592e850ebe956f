// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gpushare {
namespace {

constexpr double worth_moving = 0.01;
constexpr double nearly_as_good = 0.02;
/// What looks so much worse than the best in its first window, in which up to a third is missing, is not measured.
constexpr double hopeless = 0.35;
/// The same where a promise is broken meanwhile.
constexpr double hopeless_in_need = 0.15;
/// What differs by less from what would be worth moving to is measured for longer: so much is noise in a window.
constexpr double unclear = 0.05;
constexpr int windows_if_unclear = 4;
/// From a new plan until quotas hold everywhere: some 25 us, and a block.
constexpr Duration settling{100'000};
/// So many windows the best rests where it has just been found again, or is to be measured for a third time.
constexpr int windows_of_rest = 4;
/// And so many from one look to the next when the search is over.
constexpr int windows_of_peace = 20;
/// Whoever has so much of his floor lacks little: one step nearby, and others keep what a larger one would cost them.
constexpr double nearly_kept = 0.8;
/// Who comes and goes so often cannot be measured.
constexpr int most_interruptions = 5;
/// A change of a floor.
constexpr double noticeable = 0.01;

}  // namespace

Refinement::Refinement(Division start, std::vector<Contender> contenders, std::vector<double> alone,
                       const Bounds& bounds, const ProbeOptions& options)
    : contenders_(std::move(contenders)),
      alone_(std::move(alone)),
      bounds_(bounds),
      options_(options),
      phase_(options.share > 0 ? Phase::Base : Phase::Done),
      best_(start),
      current_(std::move(start)),
      window_(options.window) {
  if (phase_ != Phase::Done) finish_alone();
}

void Refinement::begin(Time now) {
  if (is_trial()) spent_ += std::min(now - began_, (1 + windows_if_unclear) * options_.window);
  began_ = now;
  if (!is_trial() || ++interruptions_ <= most_interruptions) return restart(now);
  if (phase_ == Phase::Alone) return enter(Phase::Done, best_, now);
  give_up(now);
}

void Refinement::pause(Time now) {
  if (phase_ != Phase::Probe) return;
  if (++interruptions_ > most_interruptions) return give_up(now);
  suggested_.insert(suggested_.begin(), current_);
  rest_for(probing(now), now);
}

void Refinement::give_up(Time now) {
  trials_.give_up(current_);
  interruptions_ = 0;
  rest_for(probing(now), now);
}

void Refinement::restart(Time now) {
  window_.close();
  is_settling_ = true;
  next_look_ = now + settling + Duration(static_cast<Duration::rep>(block_time_));
}

std::optional<Time> Refinement::wake_at() const {
  if (phase_ != Phase::Alone) return std::nullopt;
  return std::max(next_look_, window_.is_open() ? window_.late_at() : began_ + window_.longest());
}

bool Refinement::look(Time now, std::span<const BlockProgress> progress, const Device& device) {
  if (is_idle(now)) return false;
  const Division before = current_;
  if (!window_.is_open() && phase_ == Phase::Alone && now >= *wake_at()) {
    enter(Phase::Done, best_, now);
  } else if (!window_.is_open()) {
    window_.open(now, progress);
    next_look_ = now + options_.window;
  } else if (phase_ == Phase::Alone) {
    look_alone(now, progress);
  } else if (is_settling_) {
    settle(now, progress, device);
  } else {
    measure(now, progress, device);
  }
  return !same_division(before, current_);
}

double Refinement::rate(Time now, const BlockProgress& progress, std::size_t kernel) {
  block_time_ = std::max(block_time_, window_.block_time(progress, kernel));
  return window_.rate(now, progress, kernel, blocks_in(current_, kernel));
}

Outlook Refinement::outlook(Time now, std::span<const BlockProgress> progress) {
  std::vector<double> speeds;
  block_time_ = 0;
  for (std::size_t kernel = 0; kernel < contenders_.size(); ++kernel) {
    speeds.push_back(rate(now, progress[kernel], kernel) / alone_[kernel]);
  }
  return outlook_of(std::move(speeds), contenders_);
}

void Refinement::settle(Time now, std::span<const BlockProgress> progress, const Device& device) {
  const bool has_enough = window_.has_enough(now, progress);
  if (!has_enough && !window_.takes_too_long(now)) return;
  if (!has_enough && !is_at_rest()) return abandon(now, device);
  if (phase_ == Phase::Probe) {
    Outlook seen = outlook(now, progress);
    const double far = measured_->keeps(bounds_) ? hopeless : hopeless_in_need;
    if (is_worse_by(far, seen)) return judge(std::move(seen), now, device);
  }
  is_settling_ = false;
  window_.open_next(now, progress);
  next_look_ = now + options_.window;
  if (is_at_rest()) next_look_ = std::max(next_look_, rest_until_);
}

void Refinement::measure(Time now, std::span<const BlockProgress> progress, const Device& device) {
  if (!window_.has_enough(now, progress)) {
    if (is_at_rest()) return next_probe(now);
    if (window_.takes_too_long(now)) abandon(now, device);
    return;
  }
  Outlook seen = outlook(now, progress);
  if (is_at_rest()) return end_rest(std::move(seen), now, device);
  const Time latest = window_.opened() + windows_if_unclear * options_.window;
  if (is_unclear(seen) && now < latest) {
    next_look_ = latest;
  } else {
    judge(std::move(seen), now, device);
  }
}

/// Its blocks take too long.
void Refinement::abandon(Time now, const Device& device) {
  if (phase_ != Phase::Probe) return enter(Phase::Done, best_, now);
  trials_.give_up(current_);
  interruptions_ = 0;
  if (untried_.empty()) look_around(device);
  rest(now);
}

/// Than the best so far.
bool Refinement::is_worse_by(double share, const Outlook& seen) const {
  return seen.value(bounds_) < trials_.value_of(best_) - share * measured_->throughput;
}

/// What breaks a promise is not looked at for longer, nor what might end that.
bool Refinement::is_unclear(const Outlook& seen) const {
  return phase_ == Phase::Probe && measured_->keeps(bounds_) && !is_worse_by(unclear - worth_moving, seen) &&
         is_worse_by(-unclear - worth_moving, seen);
}

void Refinement::judge(Outlook seen, Time now, const Device& device) {
  trials_.add(current_, seen, seen.value(bounds_));
  interruptions_ = 0;
  if (phase_ == Phase::Base || !is_worse_by(-worth_moving, seen)) move_to(current_, std::move(seen));
  if (untried_.empty()) look_around(device);
  rest(now);
}

void Refinement::end_rest(Outlook seen, Time now, const Device& device) {
  trials_.add(best_, seen, seen.value(bounds_));
  if (trials_.needs_a_third(best_, unclear * measured_->throughput)) return rest_briefly(now);
  measured_ = trials_.seen_of(best_);
  const Trial& other = trials_.best();
  const bool is_beaten = other.value() > trials_.value_of(best_) + worth_moving * measured_->throughput;
  if (is_beaten) move_to(other.division, other.typical()->seen);
  if (untried_.empty()) look_around(device);
  return is_beaten ? rest_briefly(now) : next_probe(now);
}

void Refinement::move_to(Division division, Outlook seen) {
  best_ = std::move(division);
  measured_ = std::move(seen);
  untried_.clear();
}

void Refinement::suggest(Division division, Time now) {
  if (trials_.knows(division) || same_division(division, current_)) return;
  if (phase_ == Phase::Done && !is_measuring()) return;
  suggested_.push_back(std::move(division));
  if (!is_at_rest()) return;
  phase_ = Phase::Rest;
  rest_until_ = now;
  if (window_.is_open()) next_look_ = now;
}

/// From the other hill, too, once there is nothing left on this one.
void Refinement::look_around(const Device& device) {
  if (measured_->kept < 1 && measured_->kept > nearly_kept) reach_ = nearest_reach;
  untried_ = unknown_around(device, best_, reach_);
  const Trial* other = trials_.best_of([this](const Division& each) {
    return (each.size() > 1) != (best_.size() > 1) && !takes_turns(each, contenders_);
  });
  const double least = trials_.value_of(best_) - nearly_as_good * measured_->throughput;
  if (untried_.empty() && other != nullptr && other->value() >= least) {
    double reach = farthest_reach;
    untried_ = unknown_around(device, other->division, reach);
  }
  std::ranges::reverse(untried_);
  if (!measured_->keeps(bounds_)) favour(neediest(*measured_, contenders_));
}

/// Farther away first, and nearer only where nothing is left to be tried there.
std::vector<Division> Refinement::unknown_around(const Device& device, const Division& division, double& reach) const {
  for (;; reach /= 2) {
    std::vector<Division> found = neighbours_of(device, contenders_, division, reach);
    std::erase_if(found, [this](const Division& each) { return trials_.knows(each); });
    if (!found.empty() || reach <= nearest_reach) return found;
  }
}

// What has been tried was judged by another floor. While the search is on it sees by itself who lacks something.
void Refinement::ask(std::size_t kernel, double floor, Time now, const Device& device) {
  if (phase_ != Phase::Done || !is_measuring() || std::abs(floor - contenders_[kernel].floor) < noticeable) return;
  contenders_[kernel].floor = floor;
  measured_ = outlook_of(measured_->speeds, contenders_);
  trials_.clear();
  trials_.add(best_, *measured_, measured_->value(bounds_));
  reach_ = farthest_reach;
  look_around(device);
  began_ = now - options_.window;  // rests are as long as windows want, and none has just ended
  rest(now);
}

/// What gives this kernel most is tried first.
void Refinement::favour(std::size_t kernel) {
  std::ranges::stable_sort(untried_, {}, [kernel](const Division& each) { return blocks_in(each, kernel); });
}

/// What breaks a promise is not rested on.
void Refinement::rest(Time now) {
  if (untried_.empty() && suggested_.empty()) return enter(Phase::Done, best_, now);
  if (!measured_->keeps(bounds_)) return next_probe(now);
  rest_for(probing(now), now);
}

/// After a probe that took so long.
void Refinement::rest_for(Duration probe, Time now) {
  enter(Phase::Rest, best_, now);
  rest_until_ = now + Duration(static_cast<Duration::rep>(nanoseconds(probe) * (1 / options_.share - 1)));
}

void Refinement::rest_briefly(Time now) {
  enter(Phase::Rest, best_, now);
  rest_until_ = now + windows_of_rest * options_.window;
}

void Refinement::next_probe(Time now) {
  std::erase_if(suggested_, [this](const Division& each) { return trials_.knows(each); });
  if (untried_.empty() && suggested_.empty()) return enter(Phase::Done, best_, now);
  const auto place = suggested_.empty() ? std::prev(untried_.end()) : suggested_.begin();
  Division next = std::move(*place);
  (suggested_.empty() ? untried_ : suggested_).erase(place);
  enter(Phase::Probe, std::move(next), now);
}

void Refinement::enter(Phase phase, Division division, Time now) {
  phase_ = phase;
  began_ = now;
  spent_ = {};
  current_ = std::move(division);
  if (phase_ == Phase::Done) rest_until_ = now + windows_of_peace * options_.window;
  restart(now);
}

}  // namespace gpushare
