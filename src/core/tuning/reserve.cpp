// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/reserve.hpp"

#include <algorithm>

#include "core/engine/gpu.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {
namespace {

constexpr int launches_at_once = 2;
/// To plan for a launch, to share out room anew and to write orders takes a scheduler longer.
constexpr Duration time_to_plan(30'000);
/// Nobody else has the SMs that are kept meanwhile, and each that waits costs the device time at every look.
constexpr Duration longest_backlog(5'000'000);
/// Of SMs: quarters and thirds of them are added up.
constexpr double rounding = 1e-6;
constexpr Duration least_patience(1'000'000);

/// Who has some SMs for itself loses as large a part of them as all others, wherever they are, but not the only one.
Quota moved_off_last(const Quota& quota, int kept, int sms) {
  const std::int64_t left = sms - kept;
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

/// That hold it at full residency.
std::int64_t sms_for(const RunningLaunch& launch) {
  return (launch.blocks() + launch.max_residency - 1) / launch.max_residency;
}

std::int64_t most_of(const ReserveOptions& options, const State& state) {
  return static_cast<std::int64_t>(options.share * state.sms());
}

}  // namespace

ReserveOptions ReserveOptions::from(const PolicyOptions& options, Duration patience) {
  return {.share = options.number("reserve", "share of the SMs kept free for urgent launches, at most", 0.15, 0, 0.9),
          .patience = patience};
}

bool Reserve::fits(const RunningLaunch& launch, const State& state) const {
  return sms_for(launch) <= most_of(options_, state);
}

int Reserve::wanted_for(const RunningLaunch& launch, const State& state) const {
  const std::int64_t sms = is_urgent(launch) ? launches_at_once * launch.blocks() : sms_for(launch);
  return static_cast<int>(std::min(most_of(options_, state), sms));
}

/// Or will there be, sooner than if each of them were planned for? Then a backlog is worked off.
bool Reserve::has_room_for(const RunningLaunch& launch) const {
  const double sms = sms_filled_by(launch);
  const bool has_place = guests_.admitted() < Gpu::admitted_at_once;
  if (has_place && guests_.sms() + sms <= sms_ + rounding) return true;
  const std::optional<Duration> service = guests_.service(launch);
  if (!service || guests_.any_below(launch.priority)) return false;
  const double time = std::max(sms / sms_, 1.0 / Gpu::admitted_at_once) * nanoseconds(*service);
  return time <= nanoseconds(time_to_plan) &&
         time * static_cast<double>(guests_.admitted()) <= nanoseconds(longest_backlog);
}

bool Reserve::admits(const RunningLaunch& launch, const State& state) {
  if (!is_urgent(launch) || !is_kept(state.now()) || !fits(launch, state)) return false;
  if (wanted_for(launch, state) > sms_ || !has_room_for(launch)) return false;
  guests_.come(launch, true);
  return true;
}

void Reserve::observe(const Event& event, const State& state) {
  held_up_.observe(event);
  if (event.kind == EventKind::BlockStarted) guests_.begin(event.operation, event.time);
  if (event.kind == EventKind::LaunchEnded && guests_.leave(event.operation, event.time)) {
    until_ = event.time + options_.patience;
  }
  if (event.kind != EventKind::LaunchArrived) return;
  const RunningLaunch& launch = *state.find(event.operation);
  if (!is_for(launch, state) || !fits(launch, state)) return;
  keep(wanted_for(launch, state), event.time);
  until_ = event.time + options_.patience;
  guests_.come(launch, false);
}

/// What launches of the last `patience` have wanted, and of twice that at most: a large one should not take SMs from
/// the others for as long as small ones come.
void Reserve::keep(int wanted, Time now) {
  if (now >= epoch_ends_) {
    wanted_before_ = is_kept(now) ? wanted_ : 0;
    wanted_ = 0;
    epoch_ends_ = now + options_.patience;
  }
  wanted_ = std::max(wanted_, wanted);
  sms_ = std::max(wanted_before_, wanted_);
}

/// While somebody who was admitted is there, nobody can say for how long.
Time Reserve::kept_until(Time now) const {
  return guests_.admitted() == 0 ? until_ : now + std::max(options_.patience, least_patience);
}

Plan Reserve::applied_to(Plan plan, const State& state) const {
  if (!is_kept(state.now())) return plan;
  const Time until = kept_until(state.now());
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
