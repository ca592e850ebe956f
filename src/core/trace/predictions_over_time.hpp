// SPDX-License-Identifier: Apache-2.0
// The predictions of every predictor for a whole launch, after each end of some of its blocks. (SRTF Figs. 4 and 11
// examine one prediction on one SM.)
#pragma once

#include <vector>

#include "core/engine/trace.hpp"
#include "core/model/workload.hpp"

namespace gpushare {

/// Predicted times from the launch's arrival to its end.
struct LaunchPrediction {
  OperationId launch{};
  Time time{};            ///< of the prediction
  std::int64_t done = 0;  ///< blocks of the launch
  Duration staircase{};   ///< Eq. 1 with each SM's first block
  Duration regression{};  ///< a line through each SM's block ends so far
  Duration simple_slicing{};
  Duration drain_rate{};
  Duration remembering_drain{};
};

/// In order of time; a launch's last one is due when all its blocks have ended.
std::vector<LaunchPrediction> predictions_over_time(const Trace& trace, const Device& device, const Workload& workload);

}  // namespace gpushare
