// SPDX-License-Identifier: Apache-2.0
// Decides when a partition has been in force for long enough to be judged. First comes a warm-up, in which SMs that
// changed hands drain and fill, then a profile (CD-search section 4.1). Each lasts for a given time, and longer where a
// wave of blocks does: a real GPU reports blocks late and in groups, and a block that began under the old partition
// says little of the new one.
#pragma once

#include <optional>
#include <span>

#include "core/kernel_rates/progress_rate.hpp"
#include "core/partitioning/co_run_group.hpp"
#include "core/partitioning/sm_partition.hpp"

namespace gpushare {

class SamplingWindow {
 public:
  /// Feed every event, after the state includes it. While one of the members is between two launches, or in the tail of
  /// one, the others are faster: what happens then does not count.
  void observe(const Event& event, const State& state, std::span<const Member> members);

  /// The partition has changed: warm up from now on. Warm-up and profile take `length` or more.
  void begin(Time now, Duration length);

  /// When to ask complete().
  Time next_look() const { return next_look_; }
  /// Is the profile of these members complete? After a while those with a wave do not wait for those without.
  bool complete(const State& state, const SmPartition& partition, std::span<const Member> members);

  /// Blocks per nanosecond in the profile; nullopt where less than a wave has ended in it.
  std::optional<double> rate(const Member& member, const SmPartition& partition) const;

 private:
  bool has_ended_a_wave(const Member& member, const SmPartition& partition) const;

  Duration length_{};
  Time next_look_{};
  int looks_ = 0;
  bool is_warm_ = false;
  ProgressRate progress_;
};

}  // namespace gpushare
