// SPDX-License-Identifier: Apache-2.0
// Python's view of a GPU and of the work for it.
#pragma once

#include <memory>
#include <vector>

#include "cuda/code/program.hpp"
#include "cuda/launch/gpu_resources.hpp"

namespace gpushare::bindings {

/// One GPU, and the resources that its runs share.
struct CudaDevice {
  explicit CudaDevice(int ordinal)
      : context(std::make_shared<cuda::Context>(ordinal)), resources(std::make_shared<cuda::GpuResources>(context)) {}

  cuda::SharedContext context;
  std::shared_ptr<cuda::GpuResources> resources;
};

/// The two sides of a copy. Pinning memory takes longer than copying it, so that programs share them.
struct CopyBuffers {
  CopyBuffers(const CudaDevice& on, std::size_t size)
      : bytes(size),
        device(cuda::make_device_memory(on.context, size)),
        host(cuda::make_pinned_memory(on.context, size)) {}

  std::size_t bytes;
  cuda::DeviceMemory device;
  cuda::PinnedMemory host;
};

/// The operations, and the memory that copies go to and come from.
struct CudaProgram {
  cuda::Program operations;
  std::vector<std::shared_ptr<CopyBuffers>> buffers;
};

}  // namespace gpushare::bindings
