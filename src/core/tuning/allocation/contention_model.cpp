// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/contention_model.hpp"

#include <utility>

namespace gpushare {

ContentionModel::ContentionModel(const Device& device, std::span<const Contender> contenders)
    : device_(device), contenders_(contenders) {
  for (const Contender& each : contenders) {
    kernels_.push_back(each.kernel);
    rates_alone_.push_back(rate_alone(device, *each.kernel));
  }
}

SpeedEstimate ContentionModel::estimate(const SmAllocation& allocation) const {
  std::vector<double> speeds = corun_rates(device_, kernels_, allocation);
  for (std::size_t i = 0; i < speeds.size(); ++i) speeds[i] /= rates_alone_[i];
  return estimate_from(std::move(speeds), contenders_);
}

const SpeedEstimate* ContentionModel::remembered_estimate(const SmAllocation& allocation) const {
  std::vector<int> key;
  for (const SmGroup& group : allocation) {
    key.push_back(group.sms);
    key.insert(key.end(), group.blocks.begin(), group.blocks.end());
  }
  const auto known = remembered_.find(key);
  if (known != remembered_.end()) return &known->second;
  if (evaluations_left_ == 0) {
    has_hit_limit_ = true;
    return nullptr;
  }
  --evaluations_left_;
  return &remembered_.emplace(std::move(key), estimate(allocation)).first->second;
}

void ContentionModel::limit_evaluations(int evaluations) {
  evaluations_left_ = evaluations;
  has_hit_limit_ = false;
}

}  // namespace gpushare
