// SPDX-License-Identifier: Apache-2.0
// Launches that are timed: an event in front and one behind, read when both have passed, and never waited for.
#pragma once

#include "intercept/calls/kernels.hpp"
#include "intercept/calls/streams.hpp"

namespace gpushare::intercept {

/// Whether the next launch of it is to be timed, after so many in all processes.
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
  /// Does nothing unless it is wanted, and where there is nothing to time with.
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

/// Reads some that have passed.
void read_samples(const Membership& member);

/// A context is gone, and the events in it. Those in other contexts are given up as well.
void drop_samples();

}  // namespace gpushare::intercept
