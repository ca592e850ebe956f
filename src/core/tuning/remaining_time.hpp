// SPDX-License-Identifier: Apache-2.0
// Predicts how long the rest of a launch takes with the GPU to itself: from its kernel's profile where there is one,
// else from the rate at which its blocks have ended.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "core/predictors/remembering_drain.hpp"
#include "core/tuning/kernel_catalogue.hpp"

namespace gpushare {

class RemainingTime {
 public:
  /// Feed every event of launches that of() may be called for, after the state includes it.
  void observe(const Event& event, const State& state);

  /// nullopt while nothing is known.
  std::optional<Duration> of(const RunningLaunch& launch, const State& state) const;

 private:
  void meet(const RunningLaunch& launch, const Device& device);

  KernelCatalogue catalogue_;
  std::vector<double> rate_alone_;    // by OperationId; 0: no profile
  std::set<OperationId> unprofiled_;  // that have not ended
  RememberingDrain drain_;
};

}  // namespace gpushare
