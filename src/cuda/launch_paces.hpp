// SPDX-License-Identifier: Apache-2.0
// Which of the two ways to run a kernel takes less time, on so many SMs: as workers or as it was written. Workers save
// some kernels the start of every block, and cost others registers (docs/transform.md). So both are tried.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/units.hpp"

namespace gpushare::cuda {

enum class LaunchWay { Workers, Whole };

class LaunchPaces {
 public:
  /// A launch of the kernel that had so many SMs has ended; what it took, if nobody else was on them.
  void add(CUfunction worker, std::size_t sms, LaunchWay way, std::optional<Duration> took, std::int64_t blocks);

  /// Is that not known to be slower? Requires some launches as workers first: they show how long blocks take.
  bool may_run_whole(CUfunction worker, std::size_t sms) const;

 private:
  struct Tried {
    int launches = 0;
    int timed = 0;
    double shortest = std::numeric_limits<double>::infinity();  // nanoseconds per block
  };
  struct BothWays {
    Tried workers;
    Tried whole;
  };
  std::map<std::pair<CUfunction, std::size_t>, BothWays> kernels_;
};

}  // namespace gpushare::cuda
