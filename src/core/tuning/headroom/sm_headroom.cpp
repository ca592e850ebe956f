// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/headroom/sm_headroom.hpp"

#include <algorithm>

#include "core/policy_support/options.hpp"
#include "core/tuning/tuning.hpp"

namespace gpushare {
namespace {

/// A launch with SMs of its own loses as large a part of them as all others, wherever they are, but not the only one.
Quota moved_off_last(const Quota& quota, int reserved, int sms) {
  const std::int64_t left = sms - reserved;
  std::vector<int> blocks(static_cast<std::size_t>(sms), 0);
  int first = -1;
  for (int sm = sms - 1; sm >= 0; --sm) {
    if (quota.at(static_cast<SmId>(sm)) > 0) first = sm;
    if (sm < left) blocks[static_cast<std::size_t>(sm)] = quota.at(static_cast<SmId>(sm * sms / left));
  }
  if (first >= 0 && std::ranges::none_of(blocks, std::identity{})) {
    blocks[static_cast<std::size_t>(first * left / sms)] = quota.at(static_cast<SmId>(first));
  }
  return Quota::per_sm(std::move(blocks));
}

/// The SMs that hold it at maximum residency.
std::int64_t sms_for(const RunningLaunch& launch) {
  return (launch.blocks() + launch.max_residency - 1) / launch.max_residency;
}

std::int64_t most_reserved(const HeadroomOptions& options, const State& state) {
  return static_cast<std::int64_t>(options.share * state.sms());
}

}  // namespace

HeadroomOptions HeadroomOptions::from(const PolicyOptions& options, Duration patience) {
  return {
      .share = options.number("reserve_share", "share of the SMs reserved for urgent launches, at most", 0.15, 0, 0.9),
      .patience = patience};
}

bool SmHeadroom::fits(const RunningLaunch& launch, const State& state) const {
  return sms_for(launch) <= most_reserved(options_, state);
}

int SmHeadroom::wanted_for(const RunningLaunch& launch, const State& state) const {
  const std::int64_t sms = is_urgent(launch) ? Tuning::urgent_launches_at_once * launch.blocks() : sms_for(launch);
  return static_cast<int>(std::min(most_reserved(options_, state), sms));
}

/// Room now, or sooner than a plan for each of the waiting launches would bring it: so a backlog is worked off.
bool SmHeadroom::has_room_for(const RunningLaunch& launch, const Device& device) const {
  const double sms = sms_filled_by(launch);
  const bool starts_at_once = usage_.admitted() < admitted_at_once;
  if (starts_at_once && usage_.sms() + sms <= sms_ + Tuning::sm_rounding) return true;
  const std::optional<Duration> service = usage_.service_time(launch);
  if (!service || usage_.has_any_below(launch.priority)) return false;
  const double time = std::max(sms / sms_, 1.0 / admitted_at_once) * nanoseconds(*service);
  return time <= nanoseconds(device.tuning.plan_latency) &&
         time * static_cast<double>(usage_.admitted()) <= nanoseconds(device.tuning.longest_backlog);
}

bool SmHeadroom::admits(const RunningLaunch& launch, const State& state) {
  if (!is_urgent(launch) || !is_reserved(state.now()) || !fits(launch, state)) return false;
  if (wanted_for(launch, state) > sms_ || !has_room_for(launch, state.device())) return false;
  usage_.add(launch, true);
  return true;
}

void SmHeadroom::observe(const Event& event, const State& state) {
  interference_.observe(event);
  if (event.kind == EventKind::BlockStarted) usage_.start(event.operation, event.time);
  if (event.kind == EventKind::LaunchEnded && usage_.remove(event.operation, event.time)) {
    until_ = event.time + options_.patience;
  }
  if (event.kind != EventKind::LaunchArrived) return;
  const RunningLaunch& launch = *state.find(event.operation);
  if (!is_for(launch, state) || !fits(launch, state)) return;
  reserve(wanted_for(launch, state), event.time);
  until_ = event.time + options_.patience;
  usage_.add(launch, false);
}

/// The most that launches of the latest one or two epochs wanted, an epoch being the patience: a large launch must not
/// keep its SMs from others for as long as small ones come.
void SmHeadroom::reserve(int wanted, Time now) {
  if (now >= epoch_ends_) {
    wanted_before_ = is_reserved(now) ? wanted_ : 0;
    wanted_ = 0;
    epoch_ends_ = now + options_.patience;
  }
  wanted_ = std::max(wanted_, wanted);
  sms_ = std::max(wanted_before_, wanted_);
}

/// The end of an admitted launch is not predicted: while there is one, the reservation is prolonged.
Time SmHeadroom::reserved_until(Time now) const {
  return usage_.admitted() == 0 ? until_ : now + std::max(options_.patience, Tuning::least_patience);
}

Plan SmHeadroom::applied_to(Plan plan, const State& state) const {
  if (!is_reserved(state.now())) return plan;
  const Time until = reserved_until(state.now());
  bool is_needed = false;
  for (Share& share : plan.shares) {
    if (is_for(*state.find(share.launch), state)) continue;
    share.quota = moved_off_last(share.quota, sms_, state.sms());
    is_needed = true;
  }
  if (is_needed) plan.wake_at = plan.wake_at ? std::min(*plan.wake_at, until) : until;
  return plan;
}

}  // namespace gpushare
