// SPDX-License-Identifier: Apache-2.0
// Many policies are only an order: every launch at maximum residency, ranked by a key.
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/engine/policy.hpp"

namespace gpushare {

/// The running launches, smallest key first; equal keys in order of arrival. Keys may be expensive: each is computed
/// once.
template <typename Key>
std::vector<const RunningLaunch*> sorted_by(const State& state, Key key) {
  using Keyed = std::pair<std::invoke_result_t<Key, const RunningLaunch&>, const RunningLaunch*>;
  std::vector<Keyed> keyed;
  for (const RunningLaunch& launch : state.running()) keyed.emplace_back(key(launch), &launch);
  std::ranges::stable_sort(keyed, {}, &Keyed::first);
  std::vector<const RunningLaunch*> order;
  for (const Keyed& each : keyed) order.push_back(each.second);
  return order;
}

/// These launches at full quota, behind those that the plan has.
inline void rank_behind(Plan& plan, std::span<const RunningLaunch* const> launches) {
  for (const RunningLaunch* launch : launches) plan.shares.push_back(full_share(*launch));
}

inline void rank_behind(Plan& plan, std::span<const OperationId> launches, const State& state) {
  for (const OperationId launch : launches) plan.shares.push_back(full_share(*state.find(launch)));
}

/// All running launches at full quota, smallest key first. A lower rank gets what the higher ranks leave once their
/// last block has started.
template <typename Key>
Plan ranked_by(const State& state, Key key) {
  Plan plan;
  rank_behind(plan, sorted_by(state, key));
  return plan;
}

}  // namespace gpushare
