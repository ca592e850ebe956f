// SPDX-License-Identifier: Apache-2.0
// A scheduler's view of a kernel: the needs of one thread block, and (for the simulated GPU) its cost.
#pragma once

#include <optional>
#include <string>

#include "core/model/units.hpp"

namespace gpushare {

/// The resources that one thread block occupies on an SM from its start to its end.
struct BlockNeeds {
  int threads = 0;
  int registers_per_thread = 0;
  Bytes shared_memory;
  friend auto operator<=>(const BlockNeeds&, const BlockNeeds&) = default;
};

/// The cost of one thread block on an SM of the simulated GPU (the model: simulation/contention.hpp).
struct BlockCost {
  Duration latency{};          ///< duration of a block that has an SM to itself
  Duration issue{};            ///< part of `latency` in which it occupies the SM's issue slots
  Bytes off_sm{};              ///< bytes it moves between the SM and the rest of the GPU
  double llc_hit_ratio = 0;    ///< share of those bytes that the last-level cache serves
  double dram_cost_ratio = 1;  ///< DRAM time of a byte that it does not serve, relative to a streamed byte
  Duration memory{};           ///< part of `latency` that grows with the load beyond the SMs (OffSmBandwidth::delay)
  double variation_ratio = 0;  ///< coefficient of variation (std. dev. / mean) of the work per block
  double startup_ratio = 0;    ///< extra work of the first wave's blocks (cold caches), as a share of a block
  /// How unequally an SM serves blocks that start together: 0 all end together, 1 one after the other.
  double stagger_ratio = 0;
  double flops = 0;        ///< single-precision operations, where counted (Slate's classes)
  double trend_ratio = 0;  ///< extra work of the grid's first block, which falls evenly to as little less at its last
  friend auto operator<=>(const BlockCost&, const BlockCost&) = default;
};

/// Splits a mean block time measured at `max_residency` into latency and issue, assuming that at this residency
/// blocks keep the issue slots busy for `issue_utilisation_ratio` of the time (in (0, 1)).
BlockCost cost_from_full_residency(Duration mean_block_time, int max_residency, double issue_utilisation_ratio);

struct Kernel {
  std::string name;
  BlockNeeds needs;
  BlockCost cost;
  bool is_profiled = true;  ///< may policies read `cost`? A real GPU also runs kernels without a profile.
  /// Blocks per nanosecond with the GPU to itself, as the kernel was written: workers may be slower. 0: not measured.
  double rate_as_written = 0;
  /// A launch is work of a whole program whose kernels run beside those of others, and keep an SM from them for so long
  /// at a time (0: not known). It goes or is held, on all SMs alike: how many SMs it has is not enforced.
  std::optional<Duration> program_block{};
};

}  // namespace gpushare
