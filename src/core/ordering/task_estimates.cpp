// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/task_estimates.hpp"

#include <algorithm>
#include <cmath>

#include "core/kernel_rates/launch_rate.hpp"
#include "core/model/residency.hpp"

namespace gpushare {

/// Only where the host has seen, before it ends, that its workers stay: not in the first wave.
bool TaskEstimates::may_be_followed(const Launch& launch) const {
  const auto wave = std::int64_t{max_residency(device_, launch.kernel.needs)} * device_.sms;
  return device_.delays.follow > Duration::zero() && launch.blocks > wave;
}

/// A task's launches are often the same.
Duration TaskEstimates::by_profile(const Launch& launch) {
  const Kernel& kernel = launch.kernel;
  const bool is_latest = latest_ && latest_->blocks == launch.blocks && latest_->kernel.needs == kernel.needs &&
                         latest_->kernel.cost == kernel.cost;
  if (!is_latest) {
    const double rate = launch_rate_alone(device_, launch);
    latest_ = launch;
    latest_time_ = rate > 0 ? Duration(std::llrint(static_cast<double>(launch.blocks) / rate)) : Duration::zero();
  }
  return latest_time_;
}

std::optional<Duration> TaskEstimates::time_of(const Launch& launch, bool waits_in_hardware) {
  if (first_ == FirstEstimate::Profile && launch.kernel.is_profiled) {
    const CommandDelays& delays = device_.delays;
    return by_profile(launch) +
           (waits_in_hardware ? std::max(delays.follow, delays.completion) : delays.launch + delays.completion);
  }
  if (first_ == FirstEstimate::Profile && launch.alone) return launch.alone;
  return learnt_->of(launch.kernel, launch.blocks);
}

TaskEstimates::Estimate TaskEstimates::of(std::span<const Operation* const> operations) {
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
