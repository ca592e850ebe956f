// SPDX-License-Identifier: Apache-2.0
// The smallest parts of a GPU to which the hardware can confine a kernel (two SMs on an H100), and their SMs. The
// driver does not report these: a kernel that runs there does.
#pragma once

#include <vector>

#include "core/model/units.hpp"
#include "cuda/driver/handles.hpp"

namespace gpushare::cuda {

class SmGroups {
 public:
  /// Takes some milliseconds. Throws CudaError where the driver cannot divide the GPU, or where other kernels blocked
  /// the measuring kernel on some SM.
  explicit SmGroups(const SharedContext& context);

  /// The groups that lie within these SMs.
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
