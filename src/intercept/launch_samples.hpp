// SPDX-License-Identifier: Apache-2.0
// Timed launches: with an event in front and one behind, read when both have passed, and never waited for.
#pragma once

#include "intercept/calls/known_launches.hpp"
#include "intercept/calls/streams.hpp"

namespace gpushare::intercept {

/// Is the next launch to be timed? The first one is not: with it the driver loads the kernel's code, which takes a
/// hundred times as long.
inline bool is_sampled(const Membership& member, KnownLaunch& known) {
  constexpr std::uint64_t always_up_to = 5;
  constexpr std::uint32_t one_in = 1024;
  const std::uint32_t before = known.launches.load(std::memory_order_relaxed);
  known.launches.store(before + 1, std::memory_order_relaxed);
  if (before == 0) return false;
  if (!known.has_enough_samples.load(std::memory_order_relaxed)) {
    if (known.samples(member) < always_up_to) return true;
    known.has_enough_samples.store(true, std::memory_order_relaxed);
  }
  return before % one_in == one_in - 1;
}

/// Around a launch: made before it; ends() once it has been made.
class Sample {
 public:
  /// Does nothing unless the launch is to be timed and a pair of events is free.
  Sample(const Membership& member, KnownLaunch* known, CUstream stream, bool is_wanted) {
    if (is_wanted) begin(member, known, stream);
  }
  ~Sample() {
    if (pair_ >= 0) abandon();
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  /// `as_workers`: of a program that asks for them.
  void ends(CUstream stream, bool as_workers) {
    if (pair_ >= 0) end(stream, as_workers);
  }

 private:
  void begin(const Membership& member, KnownLaunch* known, CUstream stream);
  void end(CUstream stream, bool as_workers);
  void abandon();

  int pair_ = -1;
};

/// Reads some samples with passed events.
void read_samples(const Membership& member);

/// A context has ended, with its events. Those of other contexts are dropped as well.
void drop_samples();

}  // namespace gpushare::intercept
