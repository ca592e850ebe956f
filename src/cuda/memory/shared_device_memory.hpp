// SPDX-License-Identifier: Apache-2.0
// Device memory that several processes map, each at another address. The driver holds it until all of them have
// released it, however they end, so none can free it under another's kernels.
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <memory>

#include "cuda/driver/context.hpp"

namespace gpushare::cuda {

/// Identifies GPUs independent of their numbers under CUDA_VISIBLE_DEVICES.
using DeviceUuid = std::array<char, 16>;
DeviceUuid uuid_of(const Context& context);
/// That GPU in this process, for one that only maps memory there. Throws CudaError where it is not visible.
SharedContext visit(const DeviceUuid& uuid);

class SharedDeviceMemory {
 public:
  /// New memory of zeros, of at least so many bytes.
  static std::unique_ptr<SharedDeviceMemory> create(const SharedContext& context, std::size_t bytes);
  /// Memory that another process has exported; it must have that size. The descriptor stays the caller's.
  static std::unique_ptr<SharedDeviceMemory> imported(const SharedContext& context, int descriptor, std::size_t bytes);
  /// The allocated size for so many bytes.
  static std::size_t rounded_up(const Context& context, std::size_t bytes);

  /// No kernel may use the memory any more at this address.
  ~SharedDeviceMemory();
  SharedDeviceMemory(const SharedDeviceMemory&) = delete;
  SharedDeviceMemory& operator=(const SharedDeviceMemory&) = delete;

  CUdeviceptr get() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  const SharedContext& context() const { return context_; }
  /// For another process to import; the caller closes it.
  int descriptor() const;

 private:
  SharedDeviceMemory(SharedContext context, std::size_t bytes) : context_(std::move(context)), bytes_(bytes) {}

  void map();

  SharedContext context_;
  std::size_t bytes_;
  CUmemGenericAllocationHandle memory_ = 0;
  CUdeviceptr address_ = 0;
  bool is_mapped_ = false;
  pid_t process_ = ::getpid();  // a forked one has no part in it
};

}  // namespace gpushare::cuda
