// SPDX-License-Identifier: Apache-2.0
// The smallest parts of a GPU that the hardware can keep a kernel to (two SMs on an H100), and which SMs they are. The
// driver does not say that: a kernel that ran there does.
#pragma once

#include <vector>

#include "core/model/units.hpp"
#include "cuda/handles.hpp"

namespace gpushare::cuda {

class SmGroups {
 public:
  /// Takes some milliseconds. Throws CudaError where the driver cannot divide the GPU, or where other kernels kept the
  /// one that tells from some SM.
  explicit SmGroups(const SharedContext& context);

  /// What lies within these SMs.
  struct Within {
    std::vector<CUdevResource> groups{};
    std::vector<SmId> sms{};
  };
  Within within(const std::vector<SmId>& sms) const;

 private:
  void learn(const SharedContext& context);
  void require_all_found() const;

  std::vector<CUdevResource> groups_;
  std::vector<std::size_t> group_of_;  // by SM, from 1 on
};

}  // namespace gpushare::cuda
