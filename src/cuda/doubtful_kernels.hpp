// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/model/lru_cache.hpp"
#include "cuda/kernel_code.hpp"

namespace gpushare::cuda {

/// Kernels with a launch that took much longer than predicted. They are preemptible until a launch takes its usual time
/// again.
class DoubtfulKernels {
 public:
  void add(KernelId kernel) { doubts_[kernel] = true; }
  void remove(KernelId kernel) {
    if (bool* doubt = doubts_.find(kernel)) *doubt = false;
  }
  bool contains(KernelId kernel) const {
    const bool* doubt = doubts_.peek(kernel);
    return doubt != nullptr && *doubt;
  }

 private:
  LruCache<KernelId, bool> doubts_{4096};
};

}  // namespace gpushare::cuda
