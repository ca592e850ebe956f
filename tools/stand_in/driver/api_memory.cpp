// SPDX-License-Identifier: Apache-2.0
// The driver's functions that allocate, fill and copy.
#include <algorithm>
#include <cstring>

#include "driver/call.hpp"
#include "device/limits.hpp"

namespace gpushare::stand_in {
namespace {

/// Copies from pageable memory of up to so many bytes have read it before the call returns, and wait for no copies of
/// others.
constexpr std::size_t sent_with_the_command = 64 * 1024;

CUdeviceptr allocate_device(Gpu& device, std::size_t bytes) {
  expect(bytes > 0, CUDA_ERROR_INVALID_VALUE, "no bytes");
  const std::size_t taken = device.allocated_bytes + device.shared.taken_bytes();
  if (bytes > Limits::memory - taken) throw Denial(CUDA_ERROR_OUT_OF_MEMORY, "the device is full");
  const CUdeviceptr address = device.memory.allocate(bytes);
  std::ranges::fill_n(device.bytes_at(address, bytes), static_cast<std::ptrdiff_t>(bytes), poison);
  device.allocated[address] = bytes;
  device.allocated_bytes += bytes;
  return address;
}

void free_device(Gpu& device, std::uint64_t address) {
  const auto found = device.allocated.find(address);
  expect(found != device.allocated.end(), CUDA_ERROR_INVALID_VALUE, "frees what is not allocated");
  device.allocated_bytes -= found->second;
  device.allocated.erase(found);
  device.memory.release(address);
}

/// Memory that was freed while a copy waited is a fault of whoever freed it.
void copy_from_host(Gpu& device, CUdeviceptr to, const void* from, std::size_t bytes) {
  std::memcpy(device.bytes_at(to, bytes), from, bytes);
}
void copy_to_host(Gpu& device, void* to, CUdeviceptr from, std::size_t bytes) {
  std::memcpy(to, device.bytes_at(from, bytes), bytes);
}

void put_small_copy(Gpu& device, CUstream stream, CUdeviceptr to, const void* from, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(from);
  device.put(stream, [&device, to, kept = std::vector<std::byte>(first, first + bytes)] {
    copy_from_host(device, to, kept.data(), kept.size());
    return true;
  });
}

/// As the driver does with pageable memory.
void wait_for_copy(Gpu& device, Gpu::Turn& turn, CUstream stream, CopyEngine& engine, std::size_t bytes,
                   std::function<void()> move) {
  auto done = std::make_shared<bool>(false);
  device.copy(stream, engine, bytes, [move = std::move(move), done] {
    move();
    *done = true;
  });
  turn.wait_until([&] { return *done; });
}

/// One side of a 2-D copy.
struct Plane {
  std::byte* host = nullptr;
  std::uint64_t device = 0;
  std::size_t pitch = 0;

  std::byte* row(Gpu& gpu, std::size_t index, std::size_t bytes) const {
    return host != nullptr ? host + index * pitch : gpu.bytes_at(device + index * pitch, bytes);
  }
};

Plane plane(CUmemorytype type, void* host, CUdeviceptr device, std::size_t pitch, std::size_t x, std::size_t y) {
  expect(type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED, "no arrays here");
  const std::size_t offset = y * pitch + x;
  if (type == CU_MEMORYTYPE_HOST) return {.host = static_cast<std::byte*>(host) + offset, .pitch = pitch};
  return {.device = device + offset, .pitch = pitch};
}

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  return answer_in_context(__func__, [&](Gpu& device, Gpu::Turn&) {
    device.expect_no_capture();
    *address = allocate_device(device, bytes);
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    expect(device.stream(stream).capture == nullptr, CUDA_ERROR_NOT_SUPPORTED, "graphs have no memory here");
    *address = allocate_device(device, bytes);
  });
}

CUresult cuMemFree(CUdeviceptr address) {
  return answer_in_context(__func__, [&](Gpu& device, Gpu::Turn& turn) {
    device.expect_no_capture();
    turn.wait_until([&] { return device.is_idle(); });
    free_device(device, address);
  });
}

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  return answer_in_context(__func__, [&](Gpu& device, Gpu::Turn&) {
    *total = Limits::memory;
    *free = Limits::memory - device.allocated_bytes - device.shared.taken_bytes();
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    expect(device.allocated.contains(address), CUDA_ERROR_INVALID_VALUE, "frees what is not allocated");
    device.put(stream, [&device, address] {
      free_device(device, address);
      return true;
    });
  });
}

CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  return answer_in_context(__func__, [&](Gpu& device, Gpu::Turn&) {
    expect(bytes > 0, CUDA_ERROR_INVALID_VALUE, "no bytes");
    PinnedBytes pinned{.bytes = std::make_unique<std::byte[]>(bytes), .size = bytes};
    std::ranges::fill_n(pinned.bytes.get(), static_cast<std::ptrdiff_t>(bytes), poison);
    pinned.device_address = device.memory.map({pinned.bytes.get(), bytes}, "pinned memory");
    *address = pinned.bytes.get();
    device.pinned.emplace(*address, std::move(pinned));
  });
}

CUresult cuMemFreeHost(void* address) {
  return answer_in_context(__func__, [&](Gpu& device, Gpu::Turn& turn) {
    expect(device.pinned.contains(address), CUDA_ERROR_INVALID_VALUE, "frees what is not pinned");
    turn.wait_until(device.end_of_kernels());
    const auto found = device.pinned.find(address);
    device.memory.release(found->second.device_address);
    device.pinned.erase(found);
  });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* on_device, void* address, unsigned) {
  return answer_in_context(__func__, [&](Gpu& device, Gpu::Turn&) {
    const auto found = device.pinned.find(address);
    const auto registered = device.registered.find(static_cast<std::byte*>(address));
    const bool is_mapped = registered != device.registered.end() && registered->second.device_address != 0;
    expect(found != device.pinned.end() || is_mapped, CUDA_ERROR_INVALID_VALUE, "not pinned");
    *on_device = is_mapped ? registered->second.device_address : found->second.device_address;
  });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn& turn) {
    if (bytes == 0) return;
    static_cast<void>(device.bytes_at(to, bytes));
    const auto move = [&device, to, from, bytes, use = device.registration(from, bytes)] {
      copy_from_host(device, to, from, bytes);
    };
    if (device.is_pinned(from, bytes)) return device.copy(stream, device.to_device, bytes, move);
    if (bytes <= sent_with_the_command) return put_small_copy(device, stream, to, from, bytes);
    wait_for_copy(device, turn, stream, device.to_device, bytes, move);
  });
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn& turn) {
    if (bytes == 0) return;
    static_cast<void>(device.bytes_at(from, bytes));
    const auto move = [&device, to, from, bytes, use = device.registration(to, bytes)] {
      copy_to_host(device, to, from, bytes);
    };
    if (device.is_pinned(to, bytes)) return device.copy(stream, device.to_host, bytes, move);
    wait_for_copy(device, turn, stream, device.to_host, bytes, move);
  });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    if (bytes == 0) return;
    static_cast<void>(device.bytes_at(from, bytes));
    static_cast<void>(device.bytes_at(to, bytes));
    device.put_on_sm(stream, [&device, to, from, bytes] {
      std::memmove(device.bytes_at(to, bytes), device.bytes_at(from, bytes), bytes);
    });
  });
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn& turn) {
    const CUDA_MEMCPY2D& c = *copy;
    const Plane from =
        plane(c.srcMemoryType, const_cast<void*>(c.srcHost), c.srcDevice, c.srcPitch, c.srcXInBytes, c.srcY);
    const Plane to = plane(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstPitch, c.dstXInBytes, c.dstY);
    CopyEngine& engine = to.host != nullptr ? device.to_host : device.to_device;
    wait_for_copy(device, turn, stream, engine, c.WidthInBytes * c.Height,
                  [&device, from, to, width = c.WidthInBytes, height = c.Height] {
                    for (std::size_t row = 0; row < height; ++row) {
                      std::memmove(to.row(device, row, width), from.row(device, row, width), width);
                    }
                  });
  });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    static_cast<void>(device.bytes_at(to, bytes));
    device.put_on_sm(stream, [&device, to, value, bytes] { std::memset(device.bytes_at(to, bytes), value, bytes); });
  });
}

}  // extern "C"
