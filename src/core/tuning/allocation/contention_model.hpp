// SPDX-License-Identifier: Apache-2.0
// Predicts the speeds of kernels that share one device under an allocation of its SMs, from their profiles. Evaluations
// are remembered, and their number can be limited, so that a search can go on later where it stopped.
#pragma once

#include <limits>
#include <map>
#include <vector>

#include "core/tuning/allocation/speed_estimate.hpp"

namespace gpushare {

class ContentionModel {
 public:
  /// All contenders have to be profiled. Both arguments have to outlive the model.
  ContentionModel(const Device& device, std::span<const Contender> contenders);

  SpeedEstimate estimate(const SmAllocation& allocation) const;

  /// The same, remembered; nullptr where it would take a new evaluation and the limit has been reached.
  const SpeedEstimate* remembered_estimate(const SmAllocation& allocation) const;
  /// From now on remembered_estimate() takes at most so many new evaluations; without a call, any number.
  void limit_evaluations(int evaluations);
  /// Has remembered_estimate() returned nullptr since limit_evaluations()?
  bool has_hit_limit() const { return has_hit_limit_; }

  const Device& device() const { return device_; }
  std::span<const Contender> contenders() const { return contenders_; }

 private:
  const Device& device_;
  std::span<const Contender> contenders_;
  std::vector<const Kernel*> kernels_;
  std::vector<double> rates_alone_;                               // blocks per nanosecond
  mutable std::map<std::vector<int>, SpeedEstimate> remembered_;  // by groups: SMs and blocks
  mutable int evaluations_left_ = std::numeric_limits<int>::max();
  mutable bool has_hit_limit_ = false;
};

}  // namespace gpushare
