// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan_check.hpp"

#include <algorithm>
#include <vector>

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

std::string named(const RunningLaunch& launch, const State& state) {
  return "launch " + std::to_string(index(launch.id)) + " (" + launch.launch->kernel.name + " of " +
         state.application(launch.application).name + ")";
}

void check(const Share& share, const State& state) {
  const RunningLaunch* launch = index(share.launch) < state.operation_count() ? state.find(share.launch) : nullptr;
  if (launch == nullptr) {
    throw PolicyError("the plan names launch " + std::to_string(static_cast<int>(share.launch)) +
                      ", which is not running");
  }
  const Quota& quota = share.quota;
  const auto sms = static_cast<std::size_t>(state.sms());
  if (!quota.is_uniform() && quota.size() != sms) {
    throw PolicyError("the plan gives " + named(*launch, state) + " a quota for " + std::to_string(quota.size()) +
                      " SMs, but the device has " + std::to_string(sms));
  }
  const int wrong = quota.smallest() < 0 ? quota.smallest() : quota.largest();
  if (wrong < 0 || wrong > launch->max_residency) {
    throw PolicyError("the plan gives " + named(*launch, state) + " a quota of " + std::to_string(wrong) +
                      " blocks on an SM; it must lie in 0.." + std::to_string(launch->max_residency));
  }
  if (share.whole_up_to < Duration{}) {
    throw PolicyError("the plan leaves " + named(*launch, state) + " whole up to " +
                      std::to_string(share.whole_up_to.count()) + " ns; it must be 0 or more");
  }
}

void check_each_is_named_once(const Plan& plan, const State& state) {
  std::vector<OperationId> launches;
  for (const Share& share : plan.shares) launches.push_back(share.launch);
  std::ranges::sort(launches);
  const auto twice = std::ranges::adjacent_find(launches);
  if (twice != launches.end()) throw PolicyError("the plan names " + named(*state.find(*twice), state) + " twice");
}

}  // namespace

void check(const Plan& plan, const State& state) {
  for (const Share& share : plan.shares) check(share, state);
  check_each_is_named_once(plan, state);
  if (plan.wake_at && *plan.wake_at <= state.now()) {
    throw PolicyError("the plan asks to wake at " + std::to_string(plan.wake_at->time_since_epoch().count()) +
                      " ns, which is not after now (" + std::to_string(state.now().time_since_epoch().count()) +
                      " ns)");
  }
  if (plan.wake_at && *plan.wake_at > latest_time) {
    throw PolicyError("the plan asks to wake at " + std::to_string(plan.wake_at->time_since_epoch().count()) +
                      " ns, which is more than 200 years away");
  }
}

std::string starvation_message(const State& state) {
  std::string message = "the policy leaves the GPU idle for ever at " +
                        std::to_string(state.now().time_since_epoch().count()) + " ns while these wait:";
  for (const RunningLaunch& launch : state.running()) {
    message += " " + named(launch, state) + " with " + std::to_string(launch.unfinished()) + " blocks left;";
  }
  return message + " give one of them a quota above 0, or set wake_at";
}

}  // namespace gpushare
