// SPDX-License-Identifier: Apache-2.0
// Streams, memory and code on one GPU: move-only owners of the driver's handles.
#pragma once

#include <span>
#include <utility>

#include "cuda/driver/context.hpp"

namespace gpushare::cuda {

enum class Freeing {
  AtOnce,
  InQuietMoment,        ///< freeing it may wait for kernels
  InQuietMomentOrLater  ///< the same; dropped by the scheduler's thread, which must not wait, it is freed by another
};

/// Owns one handle of the driver: Destroy frees it, in its context.
template <typename Handle, void (*Destroy)(Handle), Freeing When = Freeing::AtOnce>
class Owned {
 public:
  Owned() = default;
  Owned(SharedContext context, Handle handle) : context_(std::move(context)), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ == Handle{} || context_->is_lost()) return;
    // The context may have been lost while the call waited. The context owns the work of freeing it later.
    const auto free = [context = context_.get(), handle = handle_] {
      if (context->is_lost()) return;
      const CurrentContext current(*context);
      Destroy(handle);
    };
    if constexpr (When == Freeing::AtOnce) {
      free();
    } else if constexpr (When == Freeing::InQuietMomentOrLater) {
      context_->drain_requests().free(free);
    } else {
      const Drain drain = context_->drain_requests().ask();
      free();
    }
  }

  Handle get() const { return handle_; }
  const SharedContext& context() const { return context_; }

 private:
  SharedContext context_;
  Handle handle_{};
};

void destroy_stream(CUstream stream);
void destroy_event(CUevent event);
void free_device_memory(CUdeviceptr address);
void free_pinned_memory(void* address);
void unload_module(CUmodule module);

using Stream = Owned<CUstream, destroy_stream>;
using Event = Owned<CUevent, destroy_event>;
using DeviceMemory = Owned<CUdeviceptr, free_device_memory>;
using PinnedMemory = Owned<void*, free_pinned_memory, Freeing::InQuietMomentOrLater>;
using LoadedModule = Owned<CUmodule, unload_module, Freeing::InQuietMomentOrLater>;

/// For destructors: waits until the stream does not use the object any more. Not where the context is lost.
void drain(const Stream& stream);

/// A stream that does not wait for the default stream.
Stream make_stream(const SharedContext& context, int priority = 0);
Event make_event(const SharedContext& context);
/// Allocates without waiting for running kernels. The memory is zero.
DeviceMemory make_device_memory(const SharedContext& context, std::size_t bytes);
/// For memory that is overwritten completely: its contents are undefined.
DeviceMemory make_uncleared_memory(const SharedContext& context, std::size_t bytes);
/// Host memory that the GPU can write. It is zero.
PinnedMemory make_pinned_memory(const SharedContext& context, std::size_t bytes);
/// During a drain, like find_function(), which loads all code: loading at the first launch would wait for running
/// kernels.
LoadedModule load_module(const SharedContext& context, std::span<const char> cubin);
CUfunction find_function(const LoadedModule& module, const std::string& symbol);

/// The address of this pinned memory on the GPU.
CUdeviceptr device_address(const PinnedMemory& memory);

}  // namespace gpushare::cuda
