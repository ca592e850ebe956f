// SPDX-License-Identifier: Apache-2.0
#include "core/policies/sampling.hpp"

namespace gpushare {

const RunningLaunch* shortest_sampled(const State& state, const SimpleSlicing& predictor) {
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

std::optional<Plan> sampling_plan(const State& state, const SimpleSlicing& predictor) {
  for (const RunningLaunch& launch : state.running()) {
    if (predictor.has_sample(launch)) continue;
    const RunningLaunch* shortest = shortest_sampled(state, predictor);
    if (shortest == nullptr) return Plan{.shares = {full_share(launch)}};
    const auto sms = static_cast<std::size_t>(state.sms());
    std::vector<int> sampled(sms, 0);
    std::vector<int> others(sms, shortest->max_residency);
    sampled[index(sampling_sm)] = launch.max_residency;
    others[index(sampling_sm)] = 0;
    return Plan{.shares = {{.launch = launch.id, .quota = Quota::per_sm(std::move(sampled))},
                           {.launch = shortest->id, .quota = Quota::per_sm(std::move(others))}}};
  }
  return std::nullopt;
}

}  // namespace gpushare
