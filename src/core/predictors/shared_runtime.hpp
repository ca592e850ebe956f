// SPDX-License-Identifier: Apache-2.0
// How slow every launch will have been when it ends, one after the other or side by side (SRTF section 5.1.2,
// Fig. 13). All times in nanoseconds, blocks per SM.
#pragma once

#include <span>
#include <vector>

#include "core/engine/state.hpp"

namespace gpushare {

/// One running launch, as seen now.
struct RuntimeEstimate {
  double waited = 0;          ///< since its arrival
  double blocks_left = 0;     ///< per SM
  double alone_runtime = 0;   ///< T: its whole runtime with the GPU to itself
  double exclusive_step = 0;  ///< t / R: time per block while it has the SM to itself
  double shared_step = 0;     ///< t / R at its shared residency, while the SM is shared
};

/// The duration of a block of one launch at maximum residency, and while the SMs are shared.
struct BlockTimeByMode {
  double exclusive = 0;
  double shared = 0;
};

/// The rates of these launches, with `times` in the same order, where the first is limited to so many blocks per SM and
/// any other would have the rest.
std::vector<RuntimeEstimate> runtime_estimates(std::span<const RunningLaunch* const> order,
                                               std::span<const BlockTimeByMode> times, int limit_of_first,
                                               const State& state);

/// Slowdowns if the launches run one after the other in the order given.
std::vector<double> exclusive_slowdowns(std::span<const RuntimeEstimate> order);

/// Slowdowns if the first two share every SM until one of them ends: the second runs NB1 = TS1 / shared_step blocks
/// beside the first, and the others NB2 with the SM to itself. The rest follow one after the other.
std::vector<double> shared_slowdowns(std::span<const RuntimeEstimate> order);

/// Largest slowdown - smallest slowdown.
double spread(std::span<const double> slowdowns);

}  // namespace gpushare
