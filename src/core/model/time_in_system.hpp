// SPDX-License-Identifier: Apache-2.0
// What a turnaround is, in runs, in sessions and in the server: how long an application has at least one job in the
// system, which is submitted and has not ended. Between its jobs it has none, and what it does then is not slowdown.
#pragma once

#include <cstdint>

namespace gpushare {

/// Of one application. `Moment` is a point in time of any clock, `Span` the difference of two.
template <typename Moment, typename Span>
class TimeInSystem {
 public:
  void submitted(Moment now) {
    if (unfinished_++ == 0) since_ = now;
  }
  /// A job has ended, or was cancelled.
  void ended(Moment now) {
    --unfinished_;
    total_ += now - since_;
    since_ = now;
  }
  /// A job that turned out to be none.
  void refused() { --unfinished_; }

  std::uint64_t unfinished() const { return unfinished_; }
  /// Up to the end of the last job that has ended.
  Span total() const { return total_; }

 private:
  std::uint64_t unfinished_ = 0;
  Moment since_{};  // when it last came to have a job, or its last job ended
  Span total_{};
};

}  // namespace gpushare
