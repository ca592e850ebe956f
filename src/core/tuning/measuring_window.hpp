// SPDX-License-Identifier: Apache-2.0
// What everybody gets done from one moment on. A launch that ends in the window and one that ended when it was opened
// are its edges, if there are such: between them nothing has to be guessed. Else blocks in flight count in part.
#pragma once

#include <span>
#include <vector>

#include "core/tuning/block_progress.hpp"

namespace gpushare {

class MeasuringWindow {
 public:
  explicit MeasuringWindow(Duration length) : length_(length) {}

  /// From now on; launches that ended before ran under other conditions.
  void open(Time now, std::span<const BlockProgress> progress);
  /// From now on, under the same conditions as the window before it.
  void open_next(Time now, std::span<const BlockProgress> progress);
  void close() { before_.clear(); }
  bool is_open() const { return !before_.empty(); }
  Time opened() const { return opened_; }

  /// Has everybody ended blocks enough in it, and a launch, if that does not take too long?
  bool has_enough(Time now, std::span<const BlockProgress> progress) const;
  /// The same of somebody who is alone: what there is has to do.
  bool has_enough_of(std::size_t kernel, Time now, std::span<const BlockProgress> progress) const;
  bool shows_nothing_of(std::size_t kernel, Time now, std::span<const BlockProgress> progress) const;
  /// What takes longer cannot be measured.
  Duration longest() const;
  bool takes_too_long(Time now) const { return now > opened_ + longest(); }
  /// From then on no launch is waited for any more.
  Time late_at() const;

  /// In the mean, of a kernel of which blocks have ended in it; nanoseconds.
  double block_time(const BlockProgress& progress, std::size_t kernel) const;
  /// Blocks per nanosecond of the time for which it was there; `places`: how many it may have resident.
  double rate(Time now, const BlockProgress& progress, std::size_t kernel, double places) const;

 private:
  bool is_late(Time now) const { return now >= late_at(); }
  std::int64_t blocks_since(std::span<const BlockProgress> progress, std::size_t kernel) const;

  Duration length_;
  Time opened_{};
  std::vector<BlockProgress> before_;  // when it was opened; empty where it is not
};

}  // namespace gpushare
