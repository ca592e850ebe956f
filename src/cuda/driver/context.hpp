// SPDX-License-Identifier: Apache-2.0
// One GPU's primary context, which gpushare shares with every other library of the process, and the move-only handles
// that live in it. A handle owns a reference to its context, so the order of destruction does not matter.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/model/device.hpp"
#include "core/runtime/drain_requests.hpp"

namespace gpushare::cuda {

class Context {
 public:
  /// Throws CudaError where there is no such GPU. Device memory that is freed stays with the process, unless a process
  /// only visits: then that is left as it is.
  explicit Context(int ordinal, bool is_visitor = false);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  CUdevice device() const { return device_; }
  CUcontext get() const { return context_; }
  /// The scheduler's description of this GPU.
  const Device& description() const { return description_; }
  /// Adds values of a device model that the driver does not report: policies that predict how kernels share it need
  /// them, and so do the waits of the runtime. For GpuResources, which depend on them.
  void know_as(const Device& model);
  /// The target of the compiler: "sm_90".
  const std::string& architecture() const { return architecture_; }
  std::size_t memory_bytes() const;
  /// Pinned host memory, for copies that clear memory of the device. None where a process only visits.
  std::span<const std::byte> zeros() const { return zeros_; }
  /// Most urgent first.
  const std::vector<int>& stream_priorities() const { return stream_priorities_; }

  /// For calls of the driver that would wait for running kernels.
  DrainRequests& drain_requests() { return drain_requests_; }

  /// Makes no more calls in the context. After a kernel has faulted, CUDA refuses all work of the process on this GPU;
  /// after one that does not end, every wait for the GPU would hang.
  void abandon();
  /// The handles in it are void, and this object cannot be used any more.
  bool is_lost() const;

 private:
  CUdevice device_ = 0;
  std::atomic<bool> is_lost_ = false;
  CUcontext context_ = nullptr;
  Device description_;
  std::string architecture_;
  std::vector<int> stream_priorities_;
  std::span<std::byte> zeros_;
  DrainRequests drain_requests_;
};

using SharedContext = std::shared_ptr<Context>;

/// Makes the context current in the calling thread until the end of the scope.
class CurrentContext {
 public:
  explicit CurrentContext(const Context& context) : CurrentContext(context.get()) {}
  explicit CurrentContext(CUcontext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
};

/// The number of GPUs; 0 where there is no driver.
int device_count();

/// The names by which CUDA_VISIBLE_DEVICES and nvidia-smi know them.
std::vector<std::string> device_uuids();

}  // namespace gpushare::cuda
