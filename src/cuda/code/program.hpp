// SPDX-License-Identifier: Apache-2.0
// The operations of a workload on a real GPU: code with its arguments, and addresses to copy between.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <variant>
#include <vector>

#include "core/engine/gpu.hpp"
#include "core/runtime/launch/shared_grid.hpp"
#include "cuda/code/kernel_code.hpp"

namespace gpushare::cuda {

struct DeviceLaunch {
  std::shared_ptr<const KernelCode> kernel;
  Extent grid{1, 1, 1};
  Extent block{1, 1, 1};
  unsigned shared_bytes = 0;                        ///< dynamic
  std::vector<std::vector<std::byte>> arguments{};  ///< one per parameter of the original
  std::shared_ptr<GridPart> part{};                 ///< where it is one of a grid of several devices

  /// Has the kernel a worker for such a block, which obeys quotas? Workers number their tasks with 31 bits.
  bool has_worker() const {
    return kernel->can_be_worker(block, shared_bytes) && count(grid) <= std::numeric_limits<std::int32_t>::max();
  }
};

struct DeviceCopy {
  Copy::Direction direction = Copy::Direction::ToDevice;
  CUdeviceptr device = 0;
  void* host = nullptr;  ///< pinned
  std::size_t bytes = 0;
};

using DeviceOperation = std::variant<DeviceLaunch, DeviceCopy>;

/// An operation that is submitted during a run.
class SubmittedCode final : public DeviceCode {
 public:
  explicit SubmittedCode(DeviceOperation operation) : operation_(std::move(operation)) {}
  const DeviceOperation& operation() const { return operation_; }

 private:
  DeviceOperation operation_;
};

/// The operations of a workload that is known beforehand, by OperationId.
using Program = std::deque<DeviceOperation>;

}  // namespace gpushare::cuda
