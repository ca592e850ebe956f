// SPDX-License-Identifier: Apache-2.0
// Which of the two ways to run a kernel takes less time, on so many SMs: as workers or as it was written. Workers save
// some kernels the start of every block, and cost others registers (docs/transform.md). So both are tried.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/recent_map.hpp"
#include "core/units.hpp"

namespace gpushare::cuda {

enum class LaunchWay { Workers, Whole };

class LaunchPaces {
 public:
  /// Workers are taken where they need at most this part of the time. Launches that are left whole need nobody to look
  /// after them, so it has to be clearly less.
  explicit LaunchPaces(double clearly_less = 0.97) : clearly_less_(clearly_less) {}

  /// A launch of the kernel that had so many SMs has ended; what it took, if nobody else was on them.
  void add(CUfunction worker, std::size_t sms, LaunchWay way, std::optional<Duration> took, std::int64_t blocks);

  /// Is that not known to be slower? Requires some launches as workers first: they show how long blocks take.
  bool may_run_whole(CUfunction worker, std::size_t sms) const;

 private:
  class Tried {
   public:
    void add(std::optional<double> per_block);
    int launches() const { return launches_; }
    bool is_known() const;
    /// Nanoseconds per block: the median of the last launches; infinite before the first one was timed.
    double pace() const;

   private:
    int launches_ = 0;
    std::vector<double> recent_;  // without the first
  };
  struct BothWays {
    Tried workers;
    Tried whole;
  };
  double clearly_less_;
  RecentMap<std::pair<CUfunction, std::size_t>, BothWays> kernels_{4096};
};

}  // namespace gpushare::cuda
