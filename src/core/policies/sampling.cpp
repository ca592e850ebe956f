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

namespace {

/// Full quotas everywhere but on the sampling SM, which is kept for the sample.
Quota beside_the_sample(const RunningLaunch& launch, const State& state) {
  std::vector<int> quota(static_cast<std::size_t>(state.sms()), launch.max_residency);
  quota[index(sampling_sm)] = 0;
  return Quota::per_sm(std::move(quota));
}

Quota only_on_the_sampling_sm(const RunningLaunch& launch, const State& state) {
  std::vector<int> quota(static_cast<std::size_t>(state.sms()), 0);
  quota[index(sampling_sm)] = launch.max_residency;
  return Quota::per_sm(std::move(quota));
}

/// The launch that is sampled first, then the shortest; the others get what these leave, in order of arrival.
Plan plan_around(const RunningLaunch& sampled, const RunningLaunch& shortest, const State& state) {
  Plan plan{.shares = {{.launch = sampled.id, .quota = only_on_the_sampling_sm(sampled, state)},
                       {.launch = shortest.id, .quota = beside_the_sample(shortest, state)}}};
  for (const RunningLaunch& other : state.running()) {
    if (other.id == sampled.id || other.id == shortest.id) continue;
    plan.shares.push_back({.launch = other.id, .quota = beside_the_sample(other, state)});
  }
  return plan;
}

/// Nobody is known yet: order of arrival, so that the first one is sampled while it has the GPU to itself.
Plan order_of_arrival(const State& state) {
  Plan plan;
  for (const RunningLaunch& launch : state.running()) plan.shares.push_back(full_share(launch));
  return plan;
}

}  // namespace

std::optional<Plan> sampling_plan(const State& state, const SimpleSlicing& predictor) {
  for (const RunningLaunch& launch : state.running()) {
    if (predictor.has_sample(launch)) continue;
    const RunningLaunch* shortest = shortest_sampled(state, predictor);
    return shortest == nullptr ? order_of_arrival(state) : plan_around(launch, *shortest, state);
  }
  return std::nullopt;
}

}  // namespace gpushare
