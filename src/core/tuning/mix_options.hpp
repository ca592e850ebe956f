// SPDX-License-Identifier: Apache-2.0
// What `mix` and `auto` can be told.
#pragma once

#include "core/policy_support/options.hpp"
#include "core/tuning/refinement.hpp"
#include "core/tuning/seating.hpp"

namespace gpushare {

/// The share of the time for probes is left to the mixer.
constexpr double usual_share = -1;

struct MixOptions {
  SeatingOptions seating{};
  double antt = 0;          ///< bound of the mean slowdown
  Duration patience{};      ///< how long a place is kept for somebody who has ended a launch
  Duration reserve{};       ///< the same where he has a latency bound
  bool is_cautious = true;  ///< where SMs serve the oldest first
  /// Launches that take so many nanoseconds alone, at most, may be known to take turns: a company of longer ones is
  /// another.
  double longest_in_turns = 0;

  ProbeOptions probes;

  /// floor, antt, patience_us, reserve_us, small_us, caution, probe_share, probe_us.
  static MixOptions from(const PolicyOptions& options);
};

}  // namespace gpushare
