// SPDX-License-Identifier: Apache-2.0
// How SRTF learns: a launch of unknown length runs a block or two on one SM while the known shortest keeps the rest.
#pragma once

#include <algorithm>
#include <optional>

#include "core/policy.hpp"

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

/// One SM for the launch that is sampled, all others for the shortest.
inline Plan sampled_beside(const RunningLaunch& shortest, const RunningLaunch& sampled, int sms) {
  std::vector<int> one(static_cast<std::size_t>(sms), 0);
  std::vector<int> others(static_cast<std::size_t>(sms), shortest.max_residency);
  one[index(sampling_sm)] = sampled.max_residency;
  others[index(sampling_sm)] = 0;
  return {.shares = {{.launch = sampled.id, .quota = Quota::per_sm(std::move(one))},
                     {.launch = shortest.id, .quota = Quota::per_sm(std::move(others))}}};
}

/// The plan that samples the first launch, in order of arrival, of which too little is known, beside the shortest of
/// the others; nullopt when there is none. The very first launch is sampled while it has the GPU to itself.
template <typename IsSampled>
std::optional<Plan> sampling_plan(const State& state, const RunningLaunch* shortest, IsSampled is_sampled) {
  const auto unknown = std::ranges::find_if_not(state.running(), is_sampled);
  if (unknown == state.running().end()) return std::nullopt;
  if (shortest == nullptr) return Plan{.shares = {full_share(*unknown)}};
  return sampled_beside(*shortest, *unknown, state.sms());
}

}  // namespace gpushare
