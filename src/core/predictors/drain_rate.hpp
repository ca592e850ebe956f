// SPDX-License-Identifier: Apache-2.0
// The drain rate of a launch: the remaining blocks, at the rate at which its SMs have been ending them.
//
// Simple Slicing takes the first block of a slice for all others. Here every block that has ended counts:
//
// - Once R blocks per SM have ended after an SM's first report, the rate since that report counts; the start of the
//   launch, with blocks that last longer, is in the first report. Where block times have fallen from one report to the
//   next, as they do while caches warm up, part of that fall is expected once more.
// - Before that, blocks in flight matter. If none is older than those that have ended, blocks are assumed to be equal,
//   and those in flight have done as much as their age says. A poll comes later than the ends that it shows, so a
//   slightly larger age does not count as older. If some are older, the grid has long blocks, or SMs serve blocks
//   unevenly: then a quarter of each counts as done.
//
// Rates are per SM and count only time in which the SM ran the launch, so that rates of some SMs predict the time on
// all. The rate of an earlier slice (see SimpleSlicing) holds until a block ends in the present one.
//
// Suits: launches of many waves, reported in groups. Fails: where late blocks take longer than early ones; in launches
// of two waves with first blocks that later ones overtake, by up to a fifth.
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
