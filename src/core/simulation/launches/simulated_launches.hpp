// SPDX-License-Identifier: Apache-2.0
// The launches that were submitted to the simulated GPU, by their numbers, which may come again, and those among them
// that have blocks to run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/simulation/launches/active_launch.hpp"

namespace gpushare {

class SimulatedLaunches {
 public:
  /// It replaces an earlier launch of its number.
  ActiveLaunch& add(const Submission& submission, const Device& device, std::uint64_t seed, double ready_at) {
    const std::size_t place = index(submission.id);
    if (launches_.size() <= place) launches_.resize(place + 1);
    launches_[place] = std::make_unique<ActiveLaunch>(submission, submitted_++, device, seed, ready_at);
    unended_.push_back(launches_[place].get());
    return *launches_[place];
  }

  /// nullptr: none of this number was submitted.
  ActiveLaunch* find(OperationId launch) const {
    return index(launch) < launches_.size() ? launches_[index(launch)].get() : nullptr;
  }

  /// In the order of their submission, without those that end() was called for.
  const std::vector<ActiveLaunch*>& unended() const { return unended_; }
  void end(const ActiveLaunch& launch) { std::erase(unended_, &launch); }

  /// How many were submitted, ever.
  std::uint64_t submitted() const { return submitted_; }

 private:
  std::vector<std::unique_ptr<ActiveLaunch>> launches_;  // by OperationId
  std::vector<ActiveLaunch*> unended_;
  std::uint64_t submitted_ = 0;
};

}  // namespace gpushare
