// SPDX-License-Identifier: Apache-2.0
// Which of the two ways to run a kernel takes less time, on so many SMs: as workers or as it was written. Workers save
// some kernels the start of every block, and cost others registers (docs/transform.md). So both are tried. Where
// launches of a kernel differ, as where the first of ten finds all the work, those that were timed say nothing of the
// next one.
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
  /// Launches differ if one takes so many times as long as usual, or so many times less: an end that is noticed 40 us
  /// late does not do that to a launch of 0.1 ms.
  explicit LaunchPaces(double clearly_less = 0.97, double differs_from = 1.5)
      : clearly_less_(clearly_less), differs_from_(differs_from) {}

  /// A launch of the kernel that had so many SMs has ended; what it took, if nobody else was on them.
  void add(CUfunction worker, std::size_t sms, LaunchWay way, std::optional<Duration> took, std::int64_t blocks);

  /// Is that not known to be slower? Requires some launches as workers first: they show how long blocks take.
  bool may_run_whole(CUfunction worker, std::size_t sms) const;

 private:
  class Tried {
   public:
    void add(std::optional<double> per_block);
    /// How many times as long it takes, or how many times less, than usual; 1 where nothing is usual yet.
    double difference(double per_block) const;
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
    int unsteady_for = 0;  // so many more launches
  };
  double clearly_less_;
  double differs_from_;
  RecentMap<std::pair<CUfunction, std::size_t>, BothWays> kernels_{4096};
};

}  // namespace gpushare::cuda
