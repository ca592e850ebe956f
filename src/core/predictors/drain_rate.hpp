// SPDX-License-Identifier: Apache-2.0
// How fast a launch drains: the blocks that are left, at the rate at which its SMs have been ending them.
//
// Simple Slicing takes the first block of a slice for all others. Here every block that has ended counts:
//
// - Once R blocks per SM have ended after an SM's first report, the rate since that report tells; the start of the
//   launch, whose blocks last longer, is in the first report. Where block times have fallen from one report to the
//   next, as they do while caches warm up, part of that fall is expected once more.
// - Before that, blocks in flight matter. If none is older than those that have ended, blocks are taken to be equal,
//   and those in flight have done as much as they are old. A look comes later than the ends that it shows, so somewhat
//   older is not older. If some are, long blocks are among them, or SMs serve blocks unevenly: then a quarter of each
//   counts as done.
//
// Rates are per SM, in time in which it ran the launch: what was seen on some SMs tells how long it takes on all. What
// was seen in an earlier slice (see SimpleSlicing) holds until a block ends in the present one.
//
// Suits: launches of many waves, reported in groups. Fails: where late blocks take longer than early ones; in launches
// of two waves whose first blocks are overtaken by later ones, by up to a fifth.
#pragma once

#include <optional>
#include <vector>

#include "core/predictors/drain_history.hpp"

namespace gpushare {

class DrainRate {
 public:
  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// Starts a new slice for every launch: residencies are about to change.
  void reslice() { ++slice_; }

  bool has_sample(const RunningLaunch& launch) const;

  /// How long the rest takes on all SMs. Requires has_sample().
  Duration remaining(const RunningLaunch& launch, Time now) const;

 private:
  struct SampledLaunch {
    std::optional<DrainHistory> history;
    int slice = 0;
  };

  std::vector<SampledLaunch> launches_;  // by OperationId
  int slice_ = 1;
};

}  // namespace gpushare
