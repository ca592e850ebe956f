// SPDX-License-Identifier: Apache-2.0
// The driver's functions that allocate and free, on devices and of the host's memory.
#include <algorithm>

#include "device/limits.hpp"
#include "driver/call.hpp"

using namespace gpushare::stand_in;

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  return answer_in_context(__func__, [&](Gpu& gpu, Machine::Lock&) {
    gpu.machine().expect_no_capture();
    *address = gpu.allocate(bytes, MemoryKind::Plain);
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream handle) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock&) {
    expect(stream.capture == nullptr, CUDA_ERROR_NOT_SUPPORTED, "graphs have no memory here");
    *address = stream.gpu().allocate(bytes, MemoryKind::Pooled);
  });
}

/// Waits for the device that the memory is on.
CUresult cuMemFree(CUdeviceptr address) {
  return answer_in_context(__func__, [&](Gpu& current, Machine::Lock& lock) {
    current.machine().expect_no_capture();
    Gpu* owner = current.machine().owner_of(address);
    Gpu& gpu = owner != nullptr ? *owner : current;
    lock.wait_until(gpu, [&] { return gpu.is_idle(); });
    gpu.release(address);
  });
}

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  return answer_in_context(__func__, [&](Gpu& gpu, Machine::Lock&) {
    *total = Limits::memory;
    *free = gpu.free_bytes();
  });
}

/// In a stream of any device.
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock&) {
    Gpu* owner = stream.gpu().machine().owner_of(address);
    expect(owner != nullptr && owner->allocated().contains(address), CUDA_ERROR_INVALID_VALUE,
           "frees what is not allocated");
    stream.gpu().put(stream, [owner, address] {
      owner->release(address);
      return true;
    });
  });
}

/// For all devices, whether CU_MEMHOSTALLOC_PORTABLE is among the flags or not: so it is where addresses are unified.
CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  return answer_in_context(__func__, [&](Gpu& gpu, Machine::Lock&) {
    Machine& all = gpu.machine();
    expect(bytes > 0, CUDA_ERROR_INVALID_VALUE, "no bytes");
    PinnedBytes pinned{.bytes = std::make_unique<std::byte[]>(bytes), .size = bytes};
    std::ranges::fill_n(pinned.bytes.get(), static_cast<std::ptrdiff_t>(bytes), poison);
    pinned.device_address = all.memory.map({pinned.bytes.get(), bytes}, "pinned memory");
    *address = pinned.bytes.get();
    all.pinned.emplace(*address, std::move(pinned));
  });
}

CUresult cuMemFreeHost(void* address) {
  return answer_in_context(__func__, [&](Gpu& gpu, Machine::Lock& lock) {
    Machine& all = gpu.machine();
    expect(all.pinned.contains(address), CUDA_ERROR_INVALID_VALUE, "frees what is not pinned");
    lock.wait_until(gpu, all.end_of_kernels());
    const auto found = all.pinned.find(address);
    all.memory.release(found->second.device_address);
    all.pinned.erase(found);
  });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* on_device, void* address, unsigned) {
  return answer_in_context(__func__, [&](Gpu& gpu, Machine::Lock&) {
    const Machine& all = gpu.machine();
    const auto found = all.pinned.find(address);
    const auto registered = all.registered.find(static_cast<std::byte*>(address));
    const bool is_mapped = registered != all.registered.end() && registered->second.device_address != 0;
    expect(found != all.pinned.end() || is_mapped, CUDA_ERROR_INVALID_VALUE, "not pinned");
    *on_device = is_mapped ? registered->second.device_address : found->second.device_address;
  });
}

}  // extern "C"
