// SPDX-License-Identifier: Apache-2.0
// What the SMs have ended of one launch within a slice, and what that says about the rest: see DrainRate.
#pragma once

#include <vector>

#include "core/engine/state.hpp"

namespace gpushare {

class DrainHistory {
 public:
  /// For a slice that begins now. A slice with all blocks of the launch so far is `from_the_start`.
  DrainHistory(const RunningLaunch& launch, Time now, bool from_the_start);

  /// Blocks that ended; the launch includes them.
  void add(const Event& event, const RunningLaunch& launch);

  /// How long the rest takes on all SMs. Requires that something has ended.
  Duration remaining(const RunningLaunch& launch, Time now) const;

 private:
  struct Group {
    double blocks = 0;
    double busy = 0;  // their durations, summed
    void operator+=(const Group& other);
  };
  /// All times are times in which the SM ran the launch, in nanoseconds.
  struct SmDrain {
    double begin = 0;   // of the slice
    double first = 0;   // report
    double latest = 0;  // report
    Group done;
    Group done_at_first;
    Group newest;  // of the latest report
    Group before;  // of the one before
  };
  struct Totals;

  static double oldest_in_flight(const SmDrain& sm, double residency);
  Totals totals(const RunningLaunch& launch, Time now) const;
  /// In SM time, as of each SM's latest report.
  double work_left(const Totals& seen, const RunningLaunch& launch) const;

  std::vector<SmDrain> per_sm_;
  bool from_the_start_;
};

}  // namespace gpushare
