// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/reserve.hpp"

#include <algorithm>

#include "core/policies/options.hpp"

namespace gpushare {
namespace {

constexpr int launches_at_once = 2;

Quota without_last(const Quota& quota, int kept, int sms) {
  std::vector<int> blocks;
  for (int sm = 0; sm < sms; ++sm) blocks.push_back(sm < sms - kept ? quota.at(static_cast<SmId>(sm)) : 0);
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
  return {.share = options.number("reserve", 0.15, 0, 0.9), .patience = patience};
}

bool Reserve::fits(const RunningLaunch& launch, const State& state) const {
  return sms_for(launch) <= most_of(options_, state);
}

void Reserve::observe(const Event& event, const State& state) {
  held_up_.observe(event);
  if (event.kind != EventKind::LaunchArrived) return;
  const RunningLaunch& launch = *state.find(event.operation);
  if (!is_for(launch, state) || !fits(launch, state)) return;
  if (event.time >= until_) sms_ = 0;
  const std::int64_t wanted = is_urgent(launch) ? launches_at_once * launch.blocks() : sms_for(launch);
  sms_ = std::max(sms_, static_cast<int>(std::min(most_of(options_, state), wanted)));
  until_ = event.time + options_.patience;
}

Plan Reserve::applied_to(Plan plan, const State& state) const {
  if (sms_ == 0 || state.now() >= until_) return plan;
  bool is_needed = false;
  for (Share& share : plan.shares) {
    if (is_for(*state.find(share.launch), state)) continue;
    share.quota = without_last(share.quota, sms_, state.sms());
    is_needed = true;
  }
  if (is_needed) plan.wake_at = plan.wake_at ? std::min(*plan.wake_at, until_) : until_;
  return plan;
}

}  // namespace gpushare
