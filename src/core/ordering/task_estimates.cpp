// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/task_estimates.hpp"

#include "core/predictors/corun.hpp"

namespace gpushare {

std::optional<Duration> TaskEstimates::time_of(const Launch& launch) const {
  if (first_ == FirstEstimate::Profile && launch.kernel.is_profiled) {
    const double rate = rate_alone(device_, launch.kernel);
    if (rate > 0) {
      const double blocks_ns = static_cast<double>(launch.blocks) / rate;
      return Duration(std::llrint(blocks_ns)) + device_.delays.launch + device_.delays.completion;
    }
  }
  return learnt_->of(launch.kernel, launch.blocks);
}

TaskEstimates::Estimate TaskEstimates::of(std::span<const Operation* const> operations) const {
  Estimate estimate;
  for (const Operation* operation : operations) {
    if (const auto* copy = std::get_if<Copy>(operation)) {
      const bool is_to_device = copy->direction == Copy::Direction::ToDevice;
      (is_to_device ? estimate.task.uplink : estimate.task.downlink) += copy->alone.value_or(
          (is_to_device ? to_device_ : to_host_).of(copy->size, pieces_.piece_of(*copy), pieces_.at_a_time));
      estimate.task.memory.count += copy->size.count;
      continue;
    }
    const std::optional<Duration> time = time_of(std::get<Launch>(*operation));
    estimate.is_known = estimate.is_known && time.has_value();
    estimate.task.compute += time.value_or(Duration::zero());
  }
  return estimate;
}

}  // namespace gpushare
