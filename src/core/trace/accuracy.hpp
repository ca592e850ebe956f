// SPDX-License-Identifier: Apache-2.0
// The accuracy of the predictors: a recorded run's events are fed to them, and their predictions are compared with the
// actual times (SRTF sections 3.2 and 4.2, Figs. 4 and 11).
#pragma once

#include <optional>
#include <vector>

#include "core/engine/trace.hpp"
#include "core/model/workload.hpp"

namespace gpushare {

/// The predictions of one launch's runtime on one SM. An SM that ran none of its blocks has no entry. Where blocks were
/// reported in groups, the first group stands for the first block, with the mean duration of its blocks.
struct PredictionCheck {
  OperationId launch{};
  SmId sm{};
  Duration actual{};                   ///< time with at least one of its blocks resident
  Duration staircase{};                ///< Eq. 1, t being the duration of the first block to end
  Duration slice_unaware{};            ///< Eq. 2, asked once, when the first block ended
  Duration simple_slicing{};           ///< Eq. 2, asked when the first block of the last slice ended
  std::optional<Duration> drain_rate;  ///< asked when a block ended here and 10% of the launch's had
  std::optional<Duration> regression;  ///< a line through the end times of all blocks
};

/// In order of launch and SM.
std::vector<PredictionCheck> check_predictions(const Trace& trace, const Device& device, const Workload& workload);

}  // namespace gpushare
