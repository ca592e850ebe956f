// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/task_estimates.hpp"

#include <algorithm>

#include "core/predictors/corun.hpp"
#include "core/residency.hpp"

namespace gpushare {

/// Only where the host has seen, before it ends, that its workers stay: not in the first wave.
bool TaskEstimates::may_be_followed(const Launch& launch) const {
  const auto wave = std::int64_t{max_residency(device_, launch.kernel.needs)} * device_.sms;
  return device_.delays.follow > Duration::zero() && launch.blocks > wave;
}

std::optional<Duration> TaskEstimates::time_of(const Launch& launch, bool waits_in_hardware) const {
  if (first_ == FirstEstimate::Profile && launch.kernel.is_profiled) {
    const double rate = rate_alone(device_, launch.kernel);
    if (rate > 0) {
      const double blocks_ns = static_cast<double>(launch.blocks) / rate;
      const CommandDelays& delays = device_.delays;
      return Duration(std::llrint(blocks_ns)) +
             (waits_in_hardware ? std::max(delays.follow, delays.completion) : delays.launch + delays.completion);
    }
  }
  return learnt_->of(launch.kernel, launch.blocks);
}

TaskEstimates::Estimate TaskEstimates::of(std::span<const Operation* const> operations) const {
  Estimate estimate;
  bool is_followed = false;
  for (const Operation* operation : operations) {
    if (const auto* copy = std::get_if<Copy>(operation)) {
      const bool is_to_device = copy->direction == Copy::Direction::ToDevice;
      (is_to_device ? estimate.task.uplink : estimate.task.downlink) += copy->alone.value_or(
          (is_to_device ? to_device_ : to_host_).of(copy->size, pieces_.piece_of(*copy), pieces_.at_a_time));
      estimate.task.memory.count += copy->size.count;
      continue;
    }
    const auto& launch = std::get<Launch>(*operation);
    const std::optional<Duration> time = time_of(launch, is_followed);
    is_followed = may_be_followed(launch);
    estimate.is_known = estimate.is_known && time.has_value();
    estimate.task.compute += time.value_or(Duration::zero());
  }
  return estimate;
}

}  // namespace gpushare
