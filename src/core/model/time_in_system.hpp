// SPDX-License-Identifier: Apache-2.0
// Turnaround, as runs, sessions and the server define it: the time during which an application has at least one job
// that is submitted and has not ended. What it does between its jobs is not slowdown.
#pragma once

#include <cstdint>

namespace gpushare {

/// The turnaround of one application. `Moment` is a point in time of any clock, `Span` the difference of two.
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
  /// A submitted job was not one after all, and does not count.
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
