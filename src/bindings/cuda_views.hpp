// SPDX-License-Identifier: Apache-2.0
// A GPU as Python holds it, and the work that it is to do.
#pragma once

#include <memory>
#include <vector>

#include "cuda/launch_on_gpu.hpp"

namespace gpushare::bindings {

/// One GPU, and what its runs share.
struct CudaDevice {
  explicit CudaDevice(int ordinal)
      : context(std::make_shared<cuda::Context>(ordinal)),
        resources(std::make_shared<cuda::LaunchResources>(context)) {}

  cuda::SharedContext context;
  std::shared_ptr<cuda::LaunchResources> resources;
};

/// The operations, and the memory that copies go to and come from.
struct CudaProgram {
  cuda::Program operations;
  std::vector<cuda::DeviceMemory> device_memory;
  std::vector<cuda::PinnedMemory> pinned_memory;
};

}  // namespace gpushare::bindings
