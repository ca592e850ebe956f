// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include "core/recent_map.hpp"

namespace gpushare::cuda {

/// Kernels, by worker, of which a launch should have been over soon and was not. They are preemptible until one takes
/// as long again as is known of them.
class DoubtfulKernels {
 public:
  void add(CUfunction worker) { doubts_[worker] = true; }
  void remove(CUfunction worker) {
    if (bool* doubt = doubts_.find(worker)) *doubt = false;
  }
  bool contains(CUfunction worker) const {
    const bool* doubt = doubts_.peek(worker);
    return doubt != nullptr && *doubt;
  }

 private:
  RecentMap<CUfunction, bool> doubts_{4096};
};

}  // namespace gpushare::cuda
