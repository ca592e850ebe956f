// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gpushare {
namespace {

constexpr double worth_moving = 0.02;
/// After a change of quotas blocks end, workers come and launches have waited for their hosts: of what is measured at
/// once, a tenth and more was missing on an H100. So what is not clearly worse is measured for another window.
constexpr double clearly_worse = 0.15;
/// From a new plan until quotas hold everywhere: 25 us and two blocks of 30 us.
constexpr Duration settling{100'000};
/// A window is over only when so many blocks of every kernel have ended in it.
constexpr std::int64_t enough_blocks = 64;
/// So long a launch of everybody is waited for.
constexpr int windows_for_a_launch = 4;
/// Blocks that take too long cannot be measured.
constexpr int most_windows = 20;
/// Whoever has so much of his floor lacks little: one step nearby, and others keep what a larger one would cost them.
constexpr double nearly_kept = 0.8;
/// Who comes and goes so often cannot be measured.
constexpr int most_interruptions = 5;
constexpr double worthless = std::numeric_limits<double>::lowest();
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
      current_(std::move(start)) {
  if (phase_ != Phase::Done) finish_alone();
}

void Refinement::begin(Time now) {
  const bool is_trial = phase_ == Phase::Probe || phase_ == Phase::Alone;
  if (is_trial && ++interruptions_ > most_interruptions) {
    give_up_probe(now);
  } else {
    restart(now);
  }
}

void Refinement::give_up_probe(Time now) {
  tried_.push_back({current_, worthless});
  if (phase_ == Phase::Alone || (untried_.empty() && suggested_.empty())) return enter(Phase::Done, best_, now);
  enter(Phase::Rest, best_, now);
  rest_until_ = now + most_windows * options_.window;
}

void Refinement::restart(Time now) {
  before_.clear();
  is_first_window_ = true;
  next_look_ = now + settling + Duration(static_cast<Duration::rep>(block_time_));
  if (phase_ != Phase::Rest) began_ = now;
}

bool Refinement::look(Time now, std::span<const BlockProgress> progress, const Device& device) {
  if (is_idle(now)) return false;
  if (before_.empty()) {
    begin_window(now, progress);
    return false;
  }
  const Division before = current_;
  if (phase_ == Phase::Rest) {
    if (has_enough(now, progress)) measured_ = outlook(now, progress);
    next_probe(now);
  } else if (has_enough(now, progress)) {
    finish_window(now, progress, device);
  } else if (takes_too_long(now, progress)) {
    enter(Phase::Done, best_, now);
  }
  return !same_division(before, current_);
}

void Refinement::begin_window(Time now, std::span<const BlockProgress> progress) {
  before_.assign(progress.begin(), progress.end());
  window_ = now;
  next_look_ = phase_ == Phase::Rest ? rest_until_ : now + options_.window;
}

std::int64_t Refinement::blocks_since(std::span<const BlockProgress> progress, std::size_t kernel) const {
  return progress[kernel].ended_blocks() - before_[kernel].ended_blocks();
}

bool Refinement::has_enough(Time now, std::span<const BlockProgress> progress) const {
  const bool is_late = now > window_ + windows_for_a_launch * options_.window;
  if (phase_ == Phase::Alone) {  // the others wait: what there is has to do
    const std::int64_t blocks = blocks_since(progress, solo_);
    return blocks >= enough_blocks || (blocks > 0 && is_late);
  }
  for (std::size_t kernel = 0; kernel < contenders_.size(); ++kernel) {
    if (blocks_since(progress, kernel) < enough_blocks) return false;
    if (progress[kernel].ended_launches() == before_[kernel].ended_launches() && !is_late) return false;
  }
  return true;
}

bool Refinement::takes_too_long(Time now, std::span<const BlockProgress> progress) const {
  const bool shows_nothing = phase_ == Phase::Alone && blocks_since(progress, solo_) == 0;
  return now > window_ + (shows_nothing ? windows_for_a_launch : most_windows) * options_.window;
}

double Refinement::rate(Time now, const BlockProgress& progress, std::size_t kernel) {
  const double block_time = progress.block_time_since(before_[kernel]);
  block_time_ = std::max(block_time_, block_time);
  const double places = blocks_in(current_, kernel);
  const double done = progress.done(now, block_time, places) - before_[kernel].done(window_, block_time, places);
  return done / std::max(progress.present(now) - before_[kernel].present(window_), 1.0);
}

Outlook Refinement::outlook(Time now, std::span<const BlockProgress> progress) {
  std::vector<double> speeds;
  block_time_ = 0;
  for (std::size_t kernel = 0; kernel < contenders_.size(); ++kernel) {
    speeds.push_back(rate(now, progress[kernel], kernel) / alone_[kernel]);
  }
  return outlook_of(std::move(speeds), contenders_);
}

void Refinement::finish_window(Time now, std::span<const BlockProgress> progress, const Device& device) {
  if (phase_ == Phase::Alone) {
    alone_[solo_] = rate(now, progress[solo_], solo_);
    finish_alone();
    interruptions_ = 0;
    return restart(now);
  }
  Outlook seen = outlook(now, progress);
  if (is_first_window_ && !is_clearly_worse(seen)) {
    is_first_window_ = false;
    return begin_window(now, progress);
  }
  judge(std::move(seen), now, device);
}

bool Refinement::is_clearly_worse(const Outlook& seen) const {
  return phase_ == Phase::Probe &&
         seen.value(bounds_) < measured_->value(bounds_) - clearly_worse * measured_->throughput;
}

/// Whoever has not been alone is next; then the base.
void Refinement::finish_alone() {
  const auto unknown = std::ranges::find(alone_, 0.0);
  phase_ = unknown == alone_.end() ? Phase::Base : Phase::Alone;
  current_ = best_;
  if (phase_ == Phase::Base) {
    if (contenders_.size() == 1) phase_ = Phase::Done;  // there is nothing to choose
    return;
  }
  solo_ = static_cast<std::size_t>(unknown - alone_.begin());
  int sms = 0;
  for (const SmGroup& group : best_) sms += group.sms;
  std::vector<int> blocks(contenders_.size(), 0);
  blocks[solo_] = contenders_[solo_].max_residency;
  current_ = {{.sms = sms, .blocks = std::move(blocks)}};
}

void Refinement::judge(Outlook seen, Time now, const Device& device) {
  tried_.push_back({current_, seen.value(bounds_)});
  const bool is_base = phase_ == Phase::Base;
  if (is_base || seen.value(bounds_) > measured_->value(bounds_) + worth_moving * measured_->throughput) {
    best_ = current_;
    measured_ = std::move(seen);
    untried_.clear();
  }
  if (untried_.empty()) look_around(device);
  rest(now);
}

void Refinement::suggest(Division division, Time now) {
  if (is_known(division) || same_division(division, current_)) return;
  if (phase_ == Phase::Done && !(measured_ && options_.share > 0)) return;
  suggested_.push_back(std::move(division));
  if (phase_ != Phase::Rest && phase_ != Phase::Done) return;
  phase_ = Phase::Rest;
  next_look_ = rest_until_ = now;
}

bool Refinement::is_known(const Division& division) const {
  return std::ranges::any_of(tried_, [&](const Trial& trial) { return same_division(division, trial.division); });
}

void Refinement::look_around(const Device& device) {
  if (measured_->kept < 1 && measured_->kept > nearly_kept) reach_ = nearest_reach;
  untried_ = unknown_around(device, best_, reach_);
  if (const Division* other = runner_up(); untried_.empty() && other != nullptr) {
    double reach = farthest_reach;
    untried_ = unknown_around(device, *other, reach);
  }
  std::ranges::reverse(untried_);
  if (!measured_->keeps(bounds_)) favour(neediest());
}

/// Farther away first, and nearer only where nothing is left to be tried there.
std::vector<Division> Refinement::unknown_around(const Device& device, const Division& division, double& reach) const {
  for (;; reach /= 2) {
    std::vector<Division> found = neighbours_of(device, contenders_, division, reach);
    std::erase_if(found, [this](const Division& each) { return is_known(each); });
    if (!found.empty() || reach <= nearest_reach) return found;
  }
}

/// The best with shared SMs if best_ is without, and the other way round, as long as it is nearly as good.
const Division* Refinement::runner_up() const {
  const Trial* found = nullptr;
  for (const Trial& trial : tried_) {
    if ((trial.division.size() > 1) == (best_.size() > 1)) continue;
    if (found == nullptr || trial.value > found->value) found = &trial;
  }
  const double least = measured_->value(bounds_) - worth_moving * measured_->throughput;
  return found != nullptr && found->value >= least ? &found->division : nullptr;
}

// What has been tried was judged by another floor. While the search is on it sees by itself who lacks something.
void Refinement::ask(std::size_t kernel, double floor, Time now, const Device& device) {
  if (phase_ != Phase::Done || !measured_ || options_.share <= 0 ||
      std::abs(floor - contenders_[kernel].floor) < noticeable)
    return;
  contenders_[kernel].floor = floor;
  measured_ = outlook_of(measured_->speeds, contenders_);
  tried_ = {{best_, measured_->value(bounds_)}};
  reach_ = farthest_reach;
  look_around(device);
  began_ = now - options_.window;  // rests are as long as windows want, and none has just ended
  rest(now);
}

/// What gives this kernel most is tried first.
void Refinement::favour(std::size_t kernel) {
  std::ranges::stable_sort(untried_, {}, [kernel](const Division& each) { return blocks_in(each, kernel); });
}

/// Whoever has least of his floor; where nobody has any, of his speed alone.
std::size_t Refinement::neediest() const {
  std::vector<double> kept;
  for (std::size_t kernel = 0; kernel < contenders_.size(); ++kernel) {
    kept.push_back(kept_of_floor(measured_->speeds[kernel], contenders_[kernel]));
  }
  return static_cast<std::size_t>(std::ranges::min_element(kept) - kept.begin());
}

/// What breaks a promise is not rested on.
void Refinement::rest(Time now) {
  if (untried_.empty() && suggested_.empty()) return enter(Phase::Done, best_, now);
  if (!measured_->keeps(bounds_)) return next_probe(now);
  const Duration probe = now - began_;
  enter(Phase::Rest, best_, now);
  rest_until_ = now + Duration(static_cast<Duration::rep>(nanoseconds(probe) * (1 / options_.share - 1)));
}

void Refinement::next_probe(Time now) {
  Division next = suggested_.empty() ? untried_.back() : suggested_.front();
  if (suggested_.empty()) {
    untried_.pop_back();
  } else {
    suggested_.erase(suggested_.begin());
  }
  enter(Phase::Probe, std::move(next), now);
}

void Refinement::enter(Phase phase, Division division, Time now) {
  phase_ = phase;
  current_ = std::move(division);
  interruptions_ = 0;
  restart(now);
}

}  // namespace gpushare
