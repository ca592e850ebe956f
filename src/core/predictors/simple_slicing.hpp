// SPDX-License-Identifier: Apache-2.0
// The Simple Slicing predictor (SRTF section 4): the duration of one block tells how long the grid will take.
//
// A launch's execution is cut into slices wherever block time may change: when any launch arrives or ends (the text;
// Algorithm 1 leaves out the arrival for the others), or when the caller says so. On each SM the first block that ends
// in a slice gives t (for a group that ended together, the mean duration does); an SM without a sample uses the
// launch's latest sample from another SM.
#pragma once

#include <optional>
#include <vector>

#include "core/engine/state.hpp"

namespace gpushare {

class SimpleSlicing {
 public:
  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// Starts a new slice for every launch: residencies are about to change.
  void reslice();

  /// Did the event observed last set a new block time?
  bool changed() const { return changed_; }

  bool has_sample(const RunningLaunch& launch) const;
  /// Has any SM measured a block of this launch in the present slice?
  bool has_fresh_sample(const RunningLaunch& launch) const;

  /// t: the block time used for this SM. Requires has_sample().
  Duration block_time(const RunningLaunch& launch, SmId sm) const;
  /// The mean of t over the SMs. Requires has_sample(). Cached, like remaining(), until a block of it ends.
  Duration block_time(const RunningLaunch& launch) const;

  /// Eq. 2 without its first term: max(0, Total_Blocks - Done_Blocks) t / Resident_Blocks, with Resident_Blocks = R.
  Duration remaining(const RunningLaunch& launch, SmId sm) const;
  /// The mean over the SMs.
  Duration remaining(const RunningLaunch& launch) const;

  /// Eq. 2: Active_Kernel_Cycles plus what remains on this SM.
  Duration runtime(const RunningLaunch& launch, SmId sm, Time now) const;

 private:
  /// Means over the SMs. Policies read these for every launch whenever a block of any launch has set a new time.
  struct Means {
    std::int64_t done = 0;  // blocks of the launch by then
    std::int64_t here = 0;  // so many of its blocks were expected to run here then
    Duration block_time{};
    Duration remaining{};
  };
  struct SmSample {
    Duration block_time{};
    int slice = 0;  // the slice in which block_time was measured; 0: never
  };
  struct Sampled {
    std::vector<SmSample> per_sm;
    Duration latest{};
    int latest_slice = 0;
    mutable std::optional<Means> means{};
  };

  const Sampled* find(const RunningLaunch& launch) const;
  const Sampled& sampled(const RunningLaunch& launch) const;
  const Means& means(const RunningLaunch& launch) const;

  std::vector<Sampled> launches_;  // by OperationId
  int slice_ = 1;
  bool changed_ = false;
};

}  // namespace gpushare
