// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/online_tuner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gpushare {

OnlineTuner::OnlineTuner(SmAllocation start, std::vector<Contender> contenders, std::vector<double> rates_alone,
                         const Bounds& bounds, const ProbeOptions& options)
    : contenders_(std::move(contenders)),
      rates_alone_(std::move(rates_alone)),
      bounds_(bounds),
      options_(options),
      phase_(options.loss > 0 ? Phase::Baseline : Phase::Done),
      best_(start),
      current_(std::move(start)),
      measurement_(options.window, options.settling) {
  if (phase_ != Phase::Done) enter_solo_or_baseline();
}

void OnlineTuner::begin(Time now) {
  if (is_experiment()) {
    const Duration longest_probe = (1 + Tuning::windows_if_unclear) * options_.window;
    phase_time_.begin_again(now, longest_probe);
  } else {
    phase_time_.restart(now);
  }
  if (!is_experiment() || phase_time_.interrupt() <= Tuning::most_interruptions) return measurement_.restart(now);
  if (phase_ == Phase::Solo) return enter(Phase::Done, best_, now);
  reject_interrupted(now);
}

void OnlineTuner::pause(Time now) {
  if (phase_ != Phase::Probe) return;
  if (phase_time_.interrupt() > Tuning::most_interruptions) return reject_interrupted(now);
  candidates_.suggest_next(current_);
  rest_after_probe(phase_time_.lasted(now), Tuning::loss_if_unknown, now);
}

void OnlineTuner::reject_interrupted(Time now) {
  history_.reject(current_);
  phase_time_.forget_interruptions();
  rest_after_probe(phase_time_.lasted(now), Tuning::loss_if_unknown, now);
}

std::optional<Time> OnlineTuner::wake_at() const {
  if (phase_ != Phase::Solo) return std::nullopt;
  const MeasuringWindow& window = measurement_.window();
  return std::max(measurement_.next_step(),
                  window.is_open() ? window.late_at() : phase_time_.began() + window.longest());
}

bool OnlineTuner::step(Time now, std::span<const BlockProgress> progress, const Device& device) {
  if (is_idle(now)) return false;
  const SmAllocation before = current_;
  const bool is_window_open = measurement_.window().is_open();
  if (!is_window_open && phase_ == Phase::Solo && now >= *wake_at()) {
    enter(Phase::Done, best_, now);
  } else if (!is_window_open) {
    measurement_.open(now, progress);
  } else if (phase_ == Phase::Solo) {
    end_solo_window(now, progress);
  } else if (measurement_.is_settling()) {
    end_settling(now, progress, device);
  } else {
    end_window(now, progress, device);
  }
  return !same_allocation(before, current_);
}

SpeedEstimate OnlineTuner::measured_speeds(Time now, std::span<const BlockProgress> progress) {
  std::vector<double> speeds = measurement_.rates(now, progress, current_);
  for (std::size_t kernel = 0; kernel < speeds.size(); ++kernel) speeds[kernel] /= rates_alone_[kernel];
  return estimate_from(std::move(speeds), contenders_);
}

void OnlineTuner::end_solo_window(Time now, std::span<const BlockProgress> progress) {
  const MeasuringWindow& window = measurement_.window();
  if (window.has_enough_of(solo_kernel_, now, progress)) {
    rates_alone_[solo_kernel_] = measurement_.rate(now, progress, solo_kernel_, current_);
    if (rates_alone_[solo_kernel_] <= 0) return enter(Phase::Done, best_, now);
    enter_solo_or_baseline();
    phase_time_.forget_interruptions();
    phase_time_.restart(now);
    measurement_.restart(now);
  } else if (window.shows_nothing_of(solo_kernel_, now, progress) || window.takes_too_long(now)) {
    enter(Phase::Done, best_, now);
  }
}

/// Solo for the first kernel with an unknown rate alone; Baseline where there is none.
void OnlineTuner::enter_solo_or_baseline() {
  const auto unknown = std::ranges::find(rates_alone_, 0.0);
  phase_ = unknown == rates_alone_.end() ? Phase::Baseline : Phase::Solo;
  current_ = best_;
  if (phase_ == Phase::Baseline) {
    if (contenders_.size() == 1) phase_ = Phase::Done;  // there is nothing to choose
    return;
  }
  solo_kernel_ = static_cast<std::size_t>(unknown - rates_alone_.begin());
  int sms = 0;
  for (const SmGroup& group : best_) sms += group.sms;
  std::vector<int> blocks(contenders_.size(), 0);
  blocks[solo_kernel_] = contenders_[solo_kernel_].max_residency;
  current_ = {{.sms = sms, .blocks = std::move(blocks)}};
}

void OnlineTuner::end_settling(Time now, std::span<const BlockProgress> progress, const Device& device) {
  const bool has_enough = measurement_.window().has_enough(now, progress);
  if (!has_enough && !measurement_.window().takes_too_long(now)) return;
  if (!has_enough && !has_best_in_force()) return reject_unmeasurable(now, device);
  if (phase_ == Phase::Probe) {
    SpeedEstimate seen = measured_speeds(now, progress);
    const double limit = measured_->keeps(bounds_) ? Tuning::hopeless : Tuning::hopeless_while_broken;
    if (is_worse_by(limit, seen)) return end_probe(std::move(seen), now, device);
  }
  measurement_.end_settling(now, progress);
  if (has_best_in_force()) measurement_.set_next_step(std::max(measurement_.next_step(), rest_until_));
}

void OnlineTuner::end_window(Time now, std::span<const BlockProgress> progress, const Device& device) {
  const MeasuringWindow& window = measurement_.window();
  if (!window.has_enough(now, progress)) {
    if (has_best_in_force()) return probe_next(now);
    if (window.takes_too_long(now)) reject_unmeasurable(now, device);
    return;
  }
  SpeedEstimate seen = measured_speeds(now, progress);
  if (has_best_in_force()) return end_rest(std::move(seen), now, device);
  const Time latest = window.opened() + Tuning::windows_if_unclear * options_.window;
  if (is_unclear(seen) && now < latest) {
    measurement_.set_next_step(latest);
  } else {
    end_probe(std::move(seen), now, device);
  }
}

/// Blocks take too long to be measured.
void OnlineTuner::reject_unmeasurable(Time now, const Device& device) {
  if (phase_ != Phase::Probe) return enter(Phase::Done, best_, now);
  history_.reject(current_);
  phase_time_.forget_interruptions();
  if (!candidates_.has_neighbours()) find_candidates(device);
  rest_or_probe(Tuning::loss_if_unknown, now);
}

/// In comparison with the best allocation so far.
bool OnlineTuner::is_worse_by(double share, const SpeedEstimate& seen) const {
  return seen.value(bounds_) < history_.value_of(best_) - share * measured_->throughput;
}

/// As a share of the throughput of the best allocation so far; all of it where a bound was broken that could be kept.
double OnlineTuner::lost_under(const SpeedEstimate& seen) const {
  return std::clamp((history_.value_of(best_) - seen.value(bounds_)) / measured_->throughput, 0.0, 1.0);
}

/// While a bound is broken nothing is measured for longer.
bool OnlineTuner::is_unclear(const SpeedEstimate& seen) const {
  return phase_ == Phase::Probe && measured_->keeps(bounds_) &&
         !is_worse_by(Tuning::window_noise - Tuning::gain_to_adopt, seen) &&
         is_worse_by(-Tuning::window_noise - Tuning::gain_to_adopt, seen);
}

void OnlineTuner::end_probe(SpeedEstimate seen, Time now, const Device& device) {
  history_.add(current_, seen, seen.value(bounds_));
  phase_time_.forget_interruptions();
  const double lost = phase_ == Phase::Baseline ? 0 : lost_under(seen);
  if (phase_ == Phase::Baseline || !is_worse_by(-Tuning::gain_to_adopt, seen)) adopt(current_, std::move(seen));
  if (!candidates_.has_neighbours()) find_candidates(device);
  rest_or_probe(lost, now);
}

void OnlineTuner::end_rest(SpeedEstimate seen, Time now, const Device& device) {
  history_.add(best_, seen, seen.value(bounds_));
  if (history_.needs_third_sample(best_, Tuning::window_noise * measured_->throughput)) return rest_briefly(now);
  measured_ = history_.typical_estimate(best_);
  const AllocationSamples& other = history_.best();
  const bool is_beaten = other.value() > history_.value_of(best_) + Tuning::gain_to_adopt * measured_->throughput;
  if (is_beaten) adopt(other.allocation, other.typical()->seen);
  if (!candidates_.has_neighbours()) find_candidates(device);
  return is_beaten ? rest_briefly(now) : probe_next(now);
}

void OnlineTuner::adopt(SmAllocation allocation, SpeedEstimate seen) {
  best_ = std::move(allocation);
  measured_ = std::move(seen);
  candidates_.drop_neighbours();
}

void OnlineTuner::suggest(SmAllocation allocation, Time now) {
  if (history_.knows(allocation) || same_allocation(allocation, current_)) return;
  if (phase_ == Phase::Done && !is_measuring()) return;
  candidates_.suggest(std::move(allocation));
  if (!has_best_in_force()) return;
  phase_ = Phase::Rest;
  rest_until_ = now;
  if (measurement_.window().is_open()) measurement_.set_next_step(now);
}

/// On the other hill, too, once there is nothing left on this one.
void OnlineTuner::find_candidates(const Device& device) {
  if (measured_->min_speed_ratio < 1 && measured_->min_speed_ratio > Tuning::nearly_kept) {
    candidates_.set_step_size(Tuning::smallest_step);
  }
  candidates_.find_neighbours(device, contenders_, best_, history_);
  const AllocationSamples* other = history_.best_of([this](const SmAllocation& each) {
    return (each.size() > 1) != (best_.size() > 1) && !is_serial(each, contenders_);
  });
  const double least = history_.value_of(best_) - Tuning::nearly_as_good * measured_->throughput;
  if (!candidates_.has_neighbours() && other != nullptr && other->value() >= least) {
    candidates_.set_step_size(Tuning::largest_step);
    candidates_.find_neighbours(device, contenders_, other->allocation, history_);
    candidates_.set_step_size(Tuning::smallest_step);  // as it was, where the best one has no more neighbours
  }
  if (!measured_->keeps(bounds_)) candidates_.prefer(furthest_below_min_speed(*measured_, contenders_));
}

// Earlier samples were valued by another minimum speed.
void OnlineTuner::require(std::size_t kernel, double min_speed, Time now, const Device& device) {
  if (phase_ != Phase::Done || !is_measuring()) return;
  if (std::abs(min_speed - contenders_[kernel].min_speed) < Tuning::least_change_of_min_speed) return;
  contenders_[kernel].min_speed = min_speed;
  measured_ = estimate_from(measured_->speeds, contenders_);
  history_.clear();
  history_.add(best_, *measured_, measured_->value(bounds_));
  candidates_.set_step_size(Tuning::largest_step);
  find_candidates(device);
  phase_time_.restart(now);  // no probe has just ended
  rest_or_probe(0, now);
}

/// No rest under an allocation that breaks a bound.
void OnlineTuner::rest_or_probe(double lost, Time now) {
  if (candidates_.empty()) return enter(Phase::Done, best_, now);
  if (!measured_->keeps(bounds_)) return probe_next(now);
  rest_after_probe(phase_time_.lasted(now), lost, now);
}

/// Twice during a probe quotas change, which costs the settling time at most.
void OnlineTuner::rest_after_probe(Duration probe, double lost, Time now) {
  constexpr Duration longest = std::chrono::hours(24 * 365);  // a loss close to 0 asks for times that overflow
  enter(Phase::Rest, best_, now);
  const double cost = nanoseconds(probe) * lost + nanoseconds(options_.settling);
  const double rest = std::min(cost * (1 / options_.loss - 1), nanoseconds(longest));
  rest_until_ = now + Duration(static_cast<Duration::rep>(rest));
}

void OnlineTuner::rest_briefly(Time now) {
  enter(Phase::Rest, best_, now);
  rest_until_ = now + Tuning::windows_of_short_rest * options_.window;
}

void OnlineTuner::probe_next(Time now) {
  candidates_.drop_known_suggestions(history_);
  if (candidates_.empty()) return enter(Phase::Done, best_, now);
  const SmAllocation* suggestion = candidates_.next_suggestion();
  enter(Phase::Probe, candidates_.take_next(suggestion != nullptr && may_wait(*suggestion)), now);
}

/// Serial execution, until shared SMs have been tried.
bool OnlineTuner::may_wait(const SmAllocation& suggestion) const {
  if (!is_serial(suggestion, contenders_) || measured_->throughput < Tuning::beyond_serial) return false;
  const auto shares_sms = [this](const SmAllocation& each) {
    return each.size() == 1 && !is_serial(each, contenders_);
  };
  return history_.best_of(shares_sms) == nullptr;
}

void OnlineTuner::enter(Phase phase, SmAllocation allocation, Time now) {
  phase_ = phase;
  phase_time_.begin(now);
  current_ = std::move(allocation);
  if (phase_ == Phase::Done) rest_until_ = now + Tuning::windows_between_checks * options_.window;
  measurement_.restart(now);
}

}  // namespace gpushare
