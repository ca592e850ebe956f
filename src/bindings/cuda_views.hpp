// SPDX-License-Identifier: Apache-2.0
// A GPU as Python holds it, and the work that it is to do.
#pragma once

#include <memory>
#include <vector>

#include "cuda/launch_on_gpu.hpp"

namespace gpushare::bindings {

/// One GPU, and what has been learnt of its kernels.
struct CudaDevice {
  cuda::SharedContext context;
  std::shared_ptr<cuda::BlockTimes> block_times = std::make_shared<cuda::BlockTimes>();
};

/// The operations, and the memory that copies go to and come from.
struct CudaProgram {
  cuda::Program operations;
  std::vector<cuda::DeviceMemory> device_memory;
  std::vector<cuda::PinnedMemory> pinned_memory;
};

}  // namespace gpushare::bindings
