// SPDX-License-Identifier: Apache-2.0
// Measures the rates of all kernels from one moment on. Where a launch ended when the window was opened and another one
// ends in it, the rate between these two ends is exact; otherwise blocks in flight count in part.
#pragma once

#include <span>
#include <vector>

#include "core/tuning/online/block_progress.hpp"

namespace gpushare {

class MeasuringWindow {
 public:
  explicit MeasuringWindow(Duration length) : length_(length) {}

  /// From now on; launches that ended before ran under another allocation.
  void open(Time now, std::span<const BlockProgress> progress);
  /// From now on, under the same allocation as the window before.
  void open_next(Time now, std::span<const BlockProgress> progress);
  void close() { before_.clear(); }
  bool is_open() const { return !before_.empty(); }
  Time opened() const { return opened_; }

  /// Has every kernel ended blocks enough in it, and a launch, unless that takes too long?
  bool has_enough(Time now, std::span<const BlockProgress> progress) const;
  /// The same for one kernel that has the whole GPU: if it is late, any block is enough.
  bool has_enough_of(std::size_t kernel, Time now, std::span<const BlockProgress> progress) const;
  bool shows_nothing_of(std::size_t kernel, Time now, std::span<const BlockProgress> progress) const;
  /// A kernel that needs longer cannot be measured.
  Duration longest() const;
  bool takes_too_long(Time now) const { return now > opened_ + longest(); }
  /// From then on the end of a launch is not waited for any more.
  Time late_at() const;

  /// The mean duration of the kernel's blocks that have ended in it, in nanoseconds. Some must have.
  double block_time(const BlockProgress& progress, std::size_t kernel) const;
  /// Blocks per nanosecond of the time for which the application was present; `places`: the most resident blocks.
  double rate(Time now, const BlockProgress& progress, std::size_t kernel, double places) const;

 private:
  bool is_late(Time now) const { return now >= late_at(); }
  std::int64_t blocks_since(std::span<const BlockProgress> progress, std::size_t kernel) const;

  Duration length_;
  Time opened_{};
  std::vector<BlockProgress> before_;  // when it was opened; empty while it is closed
};

}  // namespace gpushare
