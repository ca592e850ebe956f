// SPDX-License-Identifier: Apache-2.0
// Timed launches: with an event in front and one behind, read when both have passed, and never waited for.
#pragma once

#include "intercept/calls/kernels.hpp"
#include "intercept/calls/streams.hpp"

namespace gpushare::intercept {

/// Is the next launch to be timed, after so many samples of all processes?
inline bool is_sampled(const Membership& member, KnownLaunch& known, std::uint64_t launches) {
  constexpr std::uint64_t always_up_to = 5;
  constexpr std::uint64_t one_in = 1024;
  if (!known.was_launched.load(std::memory_order_relaxed)) {
    known.was_launched.store(true, std::memory_order_relaxed);
    return false;
  }
  return (launches + 1) % one_in == 0 || known.samples(member) < always_up_to;
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

  void ends(CUstream stream) {
    if (pair_ >= 0) end(stream);
  }

 private:
  void begin(const Membership& member, KnownLaunch* known, CUstream stream);
  void end(CUstream stream);
  void abandon();

  int pair_ = -1;
};

/// Reads some samples with passed events.
void read_samples(const Membership& member);

/// A context has ended, with its events. Those of other contexts are dropped as well.
void drop_samples();

}  // namespace gpushare::intercept
