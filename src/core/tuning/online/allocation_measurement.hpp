// SPDX-License-Identifier: Apache-2.0
// Measures the allocation in force, window after window, once it has settled: quotas have to take effect, launches
// under the old allocation to end, hosts to return, and blocks of the old allocation to end, too.
#pragma once

#include <span>
#include <vector>

#include "core/tuning/allocation/sm_allocation.hpp"
#include "core/tuning/online/measuring_window.hpp"

namespace gpushare {

class AllocationMeasurement {
 public:
  AllocationMeasurement(Duration window, Duration settling) : length_(window), settling_(settling), window_(window) {}

  /// Another allocation takes effect, or the same one again.
  void restart(Time now) {
    window_.close();
    is_settling_ = true;
    next_step_ = now + settling_ + Duration(static_cast<Duration::rep>(block_time_));
  }
  /// The first window, which is that of the settling, opens.
  void open(Time now, std::span<const BlockProgress> progress) {
    window_.open(now, progress);
    next_step_ = now + length_;
  }
  /// The allocation has settled, and the window that counts opens.
  void end_settling(Time now, std::span<const BlockProgress> progress) {
    is_settling_ = false;
    window_.open_next(now, progress);
    next_step_ = now + length_;
  }
  void set_next_step(Time time) { next_step_ = time; }

  bool is_settling() const { return is_settling_; }
  const MeasuringWindow& window() const { return window_; }
  Time next_step() const { return next_step_; }  ///< when a window may open or end

  /// Blocks per nanosecond in the window. At least one block of the kernel has ended in it.
  double rate(Time now, std::span<const BlockProgress> progress, std::size_t kernel, const SmAllocation& allocation);
  /// The same for all kernels.
  std::vector<double> rates(Time now, std::span<const BlockProgress> progress, const SmAllocation& allocation);

 private:
  Duration length_;
  Duration settling_;
  MeasuringWindow window_;
  bool is_settling_ = true;
  Time next_step_{};
  double block_time_ = 0;  // of the slowest kernel, as seen last: blocks of the old allocation stay for so long
};

}  // namespace gpushare
