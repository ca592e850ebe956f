// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/mixing/neighbours.hpp"

namespace gpushare {
namespace {

constexpr double worth_moving = 0.02;
/// From a new plan until quotas hold everywhere: 25 us and two blocks of 30 us.
constexpr Duration settling{100'000};
/// A window is over only when so many blocks of every kernel have begun and ended in it.
constexpr std::int64_t enough_blocks = 64;
/// Blocks that take too long cannot be measured.
constexpr int most_windows = 40;
constexpr int most_windows_alone = 4;
/// A change of a floor.
constexpr double noticeable = 0.01;

}  // namespace

Refinement::Refinement(Division start, std::vector<Contender> contenders, std::vector<double> alone,
                       const Bounds& bounds, const ProbeOptions& options, std::optional<Fallback> fallback)
    : contenders_(std::move(contenders)),
      alone_(std::move(alone)),
      bounds_(bounds),
      options_(options),
      phase_(options.share > 0 ? Phase::Base : Phase::Done),
      best_(start),
      current_(std::move(start)),
      fallback_(std::move(fallback)),
      speeds_(contenders_.size()) {
  if (phase_ == Phase::Done) return;
  finish_alone();
}

void Refinement::begin(Time now) {
  start_ = now + settling;
  speeds_.begin(start_);
}

bool Refinement::add(const Event& ended, std::size_t kernel, const Device& device) {
  if (phase_ == Phase::Done || ended.time < start_) return false;
  const Division before = current_;
  if (phase_ == Phase::Rest) {
    if (ended.time >= rest_until_) next_probe(ended.time);
  } else {
    speeds_.add(ended, kernel);
    if (has_enough(ended.time)) {
      finish_window(ended.time, device);
    } else if (takes_too_long(ended.time)) {
      enter(Phase::Done, best_, ended.time);
    }
  }
  return !same_division(before, current_);
}

bool Refinement::pass(Time now) {
  if (phase_ == Phase::Done || phase_ == Phase::Rest) return false;
  const bool shows_nothing = phase_ == Phase::Alone && speeds_.blocks(solo_) == 0;
  if (!takes_too_long(now) && !(shows_nothing && now > start_ + most_windows_alone * options_.window)) return false;
  const Division before = current_;
  enter(Phase::Done, best_, now);
  return !same_division(before, current_);
}

bool Refinement::takes_too_long(Time now) const { return now > start_ + most_windows * options_.window; }

bool Refinement::has_enough(Time now) const {
  if (now < start_ + options_.window) return false;
  if (phase_ == Phase::Alone) {  // the others wait: what there is has to do
    const std::int64_t blocks = speeds_.blocks(solo_);
    return blocks >= enough_blocks || (blocks > 0 && now > start_ + most_windows_alone * options_.window);
  }
  for (std::size_t kernel = 0; kernel < contenders_.size(); ++kernel) {
    if (speeds_.blocks(kernel) < enough_blocks) return false;
  }
  return true;
}

void Refinement::finish_window(Time now, const Device& device) {
  if (phase_ == Phase::Alone) {
    alone_[solo_] = speeds_.rate(current_, solo_);
    finish_alone();
    begin(now);
  } else {
    judge(now, device);
  }
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

void Refinement::judge(Time now, const Device& device) {
  const Outlook seen = outlook();
  const bool is_base = phase_ == Phase::Base;
  tried_.push_back(current_);
  const std::optional<Fallback> fallback = std::exchange(fallback_, std::nullopt);
  if (fallback && seen.value(bounds_) < fallback->outlook.value(bounds_)) {
    best_ = fallback->division;
    return enter(Phase::Base, best_, now);
  }
  if (is_base || seen.value(bounds_) > measured_->value(bounds_) + worth_moving * measured_->throughput) {
    best_ = current_;
    measured_ = seen;
    look_around(device);
  }
  rest(now);
}

void Refinement::look_around(const Device& device) {
  untried_ = neighbours_of(device, contenders_, best_);
  std::erase_if(untried_, [&](const Division& each) {
    return std::ranges::any_of(tried_, [&](const Division& known_one) { return same_division(each, known_one); });
  });
  std::ranges::reverse(untried_);
  if (!measured_->keeps(bounds_)) favour(neediest());
}

// What has been tried was judged by another floor.
void Refinement::ask(std::size_t kernel, double floor, Time now, const Device& device) {
  if (!measured_ || options_.share <= 0 || std::abs(floor - contenders_[kernel].floor) < noticeable) return;
  contenders_[kernel].floor = floor;
  measured_ = outlook_of(measured_->speeds, contenders_);
  tried_ = {best_};
  look_around(device);
  if (phase_ != Phase::Done && phase_ != Phase::Rest) return;
  start_ = now - options_.window;  // rests are as long as windows want, and none has just ended
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
  if (untried_.empty()) return enter(Phase::Done, best_, now);
  if (!measured_->keeps(bounds_)) return next_probe(now);
  const Duration probe = now - start_ + settling;
  rest_until_ = now + Duration(static_cast<Duration::rep>(nanoseconds(probe) * (1 / options_.share - 1)));
  enter(Phase::Rest, best_, now);
}

void Refinement::next_probe(Time now) {
  Division next = std::move(untried_.back());
  untried_.pop_back();
  enter(Phase::Probe, std::move(next), now);
}

void Refinement::enter(Phase phase, Division division, Time now) {
  phase_ = phase;
  current_ = std::move(division);
  begin(now);
}

Outlook Refinement::outlook() const {
  std::vector<double> speeds;
  for (std::size_t kernel = 0; kernel < contenders_.size(); ++kernel) {
    speeds.push_back(speeds_.rate(current_, kernel) / alone_[kernel]);
  }
  return outlook_of(std::move(speeds), contenders_);
}

}  // namespace gpushare
