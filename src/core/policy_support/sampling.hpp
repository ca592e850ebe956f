// SPDX-License-Identifier: Apache-2.0
// Sampling, as SRTF does it: a launch of unknown length runs a block or two on one SM while the shortest known launch
// has the rest. SMs that this leaves free, as with small launches, go to the other known ones; the paper leaves them
// idle.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/policy_support/ranking.hpp"

namespace gpushare {

/// Which SM is given to a launch that is being sampled.
constexpr SmId sampling_sm{0};

/// The running launch with the shortest predicted remaining time, or nullptr before anything has been sampled.
template <typename Predictor>
const RunningLaunch* shortest_sampled(const State& state, const Predictor& predictor) {
  const RunningLaunch* shortest = nullptr;
  Duration least{};
  for (const RunningLaunch& launch : state.running()) {
    if (!predictor.has_sample(launch)) continue;
    const Duration remaining = predictor.remaining(launch);
    if (shortest != nullptr && remaining >= least) continue;
    shortest = &launch;
    least = remaining;
  }
  return shortest;
}

/// One SM for the launch that is sampled, all others for those that are known, in this order.
inline Plan sampled_beside(std::span<const RunningLaunch* const> known, const RunningLaunch& sampled, int sms) {
  std::vector<int> one(static_cast<std::size_t>(sms), 0);
  one[index(sampling_sm)] = sampled.max_residency;
  Plan plan{.shares = {{.launch = sampled.id, .quota = Quota::per_sm(std::move(one))}}};
  for (const RunningLaunch* launch : known) {
    std::vector<int> others(static_cast<std::size_t>(sms), launch->max_residency);
    others[index(sampling_sm)] = 0;
    plan.shares.push_back({.launch = launch->id, .quota = Quota::per_sm(std::move(others))});
  }
  return plan;
}

/// The launches with a prediction, the shortest first, without the one that is sampled.
template <typename Predictor>
std::vector<const RunningLaunch*> known_beside(const RunningLaunch& sampled, const RunningLaunch& shortest,
                                               const State& state, const Predictor& predictor) {
  std::vector<const RunningLaunch*> known = sorted_by(state, [&](const RunningLaunch& launch) {
    if (launch.id == shortest.id) return Duration::min();
    return predictor.has_sample(launch) ? predictor.remaining(launch) : Duration::max();
  });
  std::erase_if(
      known, [&](const RunningLaunch* launch) { return launch->id == sampled.id || !predictor.has_sample(*launch); });
  return known;
}

/// The plan that samples the first launch, in order of arrival, without enough of a prediction, beside the shortest of
/// the others; nullopt when there is none. The very first launch is sampled while it has the GPU to itself.
template <typename Predictor, typename IsSampled>
std::optional<Plan> sampling_plan(const State& state, const RunningLaunch* shortest, const Predictor& predictor,
                                  IsSampled is_sampled) {
  const auto unknown = std::ranges::find_if_not(state.running(), is_sampled);
  if (unknown == state.running().end()) return std::nullopt;
  if (shortest == nullptr) return Plan{.shares = {full_share(*unknown)}};
  return sampled_beside(known_beside(*unknown, *shortest, state, predictor), *unknown, state.sms());
}

/// As in the paper: any sample is enough.
template <typename Predictor>
std::optional<Plan> sampling_plan(const State& state, const Predictor& predictor) {
  const auto has_sample = [&](const RunningLaunch& launch) { return predictor.has_sample(launch); };
  return sampling_plan(state, shortest_sampled(state, predictor), predictor, has_sample);
}

}  // namespace gpushare
