// SPDX-License-Identifier: Apache-2.0
// One GPU's primary context, which gpushare shares with every other library of the process, and the move-only handles
// that live in it. A handle keeps its context alive, so the order of destruction takes care of itself.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/model/device.hpp"
#include "cuda/quiet_moments.hpp"

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
  /// What the scheduler has to know of this GPU.
  const Device& description() const { return description_; }
  /// What the driver does not tell, from the model of such a GPU: policies that foresee how kernels share it need that.
  void know_as(const Device& model);
  /// For which the compiler has to make code: "sm_90".
  const std::string& architecture() const { return architecture_; }
  std::size_t memory_bytes() const;
  /// Pinned host memory, for copies that clear memory of the device. None where a process only visits.
  std::span<const std::byte> zeros() const { return zeros_; }
  /// Most urgent first.
  const std::vector<int>& stream_priorities() const { return stream_priorities_; }

  /// For calls of the driver that would wait for what runs.
  QuietMoments& quiet_moments() { return quiet_moments_; }

  /// Touches the context no more. After a kernel has faulted, CUDA lets the process do nothing else on this GPU; after
  /// one that does not end, everything that waits for the GPU would hang.
  void abandon();
  /// Handles that live in it are void, and this object is good for nothing more.
  bool is_lost() const;

 private:
  CUdevice device_ = 0;
  std::atomic<bool> is_lost_ = false;
  CUcontext context_ = nullptr;
  Device description_;
  std::string architecture_;
  std::vector<int> stream_priorities_;
  std::span<std::byte> zeros_;
  QuietMoments quiet_moments_;
};

using SharedContext = std::shared_ptr<Context>;

/// Makes the context the calling thread's own until the end of the scope.
class CurrentContext {
 public:
  explicit CurrentContext(const Context& context) : CurrentContext(context.get()) {}
  explicit CurrentContext(CUcontext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
};

/// How many GPUs there are; 0 where there is no driver.
int device_count();

}  // namespace gpushare::cuda
