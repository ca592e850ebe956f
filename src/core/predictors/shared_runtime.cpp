// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/shared_runtime.hpp"

#include <algorithm>

#include "core/model/residency.hpp"

namespace gpushare {
namespace {

double slowdown(const RuntimeEstimate& estimate, double end) {
  return (estimate.waited + end) / estimate.alone_runtime;
}

/// When a launch ends that shares the SM until `shared_until` and has it to itself from then on.
double end_of(const RuntimeEstimate& estimate, double shared_until) {
  const double beside = shared_until / estimate.shared_step;
  if (beside >= estimate.blocks_left) return estimate.blocks_left * estimate.shared_step;
  return shared_until + (estimate.blocks_left - beside) * estimate.exclusive_step;
}

RuntimeEstimate runtime_estimate(const RunningLaunch& launch, const BlockTimeByMode& times, int shared_residency,
                                 const State& state) {
  const double step = times.exclusive / launch.max_residency;
  const double sms = state.sms();
  return {.waited = nanoseconds(state.now() - launch.arrival),
          .blocks_left = static_cast<double>(launch.unfinished()) / sms,
          .alone_runtime = static_cast<double>(launch.here()) / sms * step,
          .exclusive_step = step,
          .shared_step = times.shared / shared_residency};
}

}  // namespace

std::vector<RuntimeEstimate> runtime_estimates(std::span<const RunningLaunch* const> order,
                                               std::span<const BlockTimeByMode> times, int limit_of_first,
                                               const State& state) {
  std::vector<RuntimeEstimate> estimates{runtime_estimate(*order[0], times[0], limit_of_first, state)};
  for (std::size_t place = 1; place < order.size(); ++place) {
    const RunningLaunch& launch = *order[place];
    const int fitting =
        residency_beside(state.device(), launch.launch->kernel.needs, order[0]->launch->kernel.needs, limit_of_first);
    estimates.push_back(runtime_estimate(launch, times[place], std::clamp(fitting, 1, launch.max_residency), state));
  }
  return estimates;
}

std::vector<double> exclusive_slowdowns(std::span<const RuntimeEstimate> order) {
  std::vector<double> slowdowns;
  double end = 0;
  for (const RuntimeEstimate& estimate : order) {
    end += estimate.blocks_left * estimate.exclusive_step;
    slowdowns.push_back(slowdown(estimate, end));
  }
  return slowdowns;
}

std::vector<double> shared_slowdowns(std::span<const RuntimeEstimate> order) {
  if (order.size() < 2) return exclusive_slowdowns(order);
  const double first_alone_with_its_share = order[0].blocks_left * order[0].shared_step;
  const double second_alone_with_its_share = order[1].blocks_left * order[1].shared_step;
  const double first = end_of(order[0], second_alone_with_its_share);
  const double second = end_of(order[1], first_alone_with_its_share);
  std::vector<double> slowdowns{slowdown(order[0], first), slowdown(order[1], second)};
  double end = std::max(first, second);
  for (const RuntimeEstimate& estimate : order.subspan(2)) {
    end += estimate.blocks_left * estimate.exclusive_step;
    slowdowns.push_back(slowdown(estimate, end));
  }
  return slowdowns;
}

double spread(std::span<const double> slowdowns) {
  const auto [smallest, largest] = std::ranges::minmax(slowdowns);
  return largest - smallest;
}

}  // namespace gpushare
