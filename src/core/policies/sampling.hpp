// SPDX-License-Identifier: Apache-2.0
// How SRTF learns: a launch of unknown length runs a block or two on one SM while the known shortest keeps the rest.
#pragma once

#include <optional>

#include "core/policy.hpp"
#include "core/predictors/simple_slicing.hpp"

namespace gpushare {

/// Which SM is given to a launch that is being sampled.
constexpr SmId sampling_sm{0};

/// The running launch with the shortest predicted remaining time, or nullptr before anything has been sampled.
const RunningLaunch* shortest_sampled(const State& state, const SimpleSlicing& predictor);

/// The plan that samples the first launch, in order of arrival, that has no prediction yet; nullopt when all have.
/// The very first launch is sampled while it has the GPU to itself.
std::optional<Plan> sampling_plan(const State& state, const SimpleSlicing& predictor);

}  // namespace gpushare
