// SPDX-License-Identifier: Apache-2.0
// The driver's functions that copy and fill.
#include <algorithm>
#include <cstring>
#include <vector>

#include "driver/call.hpp"

namespace gpushare::stand_in {
namespace {

/// Copies from pageable memory of up to so many bytes have read it before the call returns, and wait for no copies of
/// other streams.
constexpr std::size_t sent_with_the_command = 64 * 1024;

/// A copy that waited while its memory was freed is a fault of the program: bytes_at throws then.
void put_small_copy(Stream& stream, CUdeviceptr to, const void* from, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(from);
  Gpu& gpu = stream.gpu();
  gpu.put(stream, [&all = gpu.machine(), to, kept = std::vector<std::byte>(first, first + bytes)] {
    std::ranges::copy(kept, all.bytes_at(to, kept.size()));
    return true;
  });
}

/// As the driver does with pageable memory.
void wait_for_copy(Stream& stream, Machine::Lock& lock, CopyEngine& engine, std::size_t bytes,
                   std::function<void()> move) {
  auto done = std::make_shared<bool>(false);
  stream.gpu().copy(stream, engine, bytes, [move = std::move(move), done] {
    move();
    *done = true;
  });
  lock.wait_until(stream.gpu(), [&] { return *done; });
}

/// Within a device by a kernel of the driver; between devices by a copy engine, with peer access or without it.
void copy_on_devices(Stream& stream, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  Gpu& gpu = stream.gpu();
  Machine& all = gpu.machine();
  static_cast<void>(all.bytes_at(from, bytes));
  static_cast<void>(all.bytes_at(to, bytes));
  const auto move = [&all, to, from, bytes] {
    std::memmove(all.bytes_at(to, bytes), all.bytes_at(from, bytes), bytes);
  };
  const auto is_here = [&](CUdeviceptr address) {
    const Gpu* owner = all.owner_of(address);
    return owner == nullptr || owner == &gpu;
  };
  if (is_here(to) && is_here(from)) return gpu.put_on_sm(stream, move);
  gpu.copy(stream, gpu.to_peers, bytes, move);
}

/// One side of a 2-D copy.
struct Plane {
  std::byte* host = nullptr;
  std::uint64_t device = 0;
  std::size_t pitch = 0;

  std::byte* row(Machine& machine, std::size_t index, std::size_t bytes) const {
    return host != nullptr ? host + index * pitch : machine.bytes_at(device + index * pitch, bytes);
  }
};

Plane plane(CUmemorytype type, void* host, CUdeviceptr device, std::size_t pitch, std::size_t x, std::size_t y) {
  expect(type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED, "no arrays here");
  const std::size_t offset = y * pitch + x;
  if (type == CU_MEMORYTYPE_HOST) return {.host = static_cast<std::byte*>(host) + offset, .pitch = pitch};
  return {.device = device + offset, .pitch = pitch};
}

/// In the legacy default stream, or, where there is none, in the thread's own, and to its end.
template <class Start>
CUresult completed(Start start) {
  const CUstream stream = is_legacy_stream(CU_STREAM_LEGACY) ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD;
  const CUresult started = start(stream);
  return started != CUDA_SUCCESS ? started : cuStreamSynchronize(stream);
}

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream handle) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock& lock) {
    if (bytes == 0) return;
    Gpu& gpu = stream.gpu();
    Machine& all = gpu.machine();
    static_cast<void>(all.bytes_at(to, bytes));
    const auto move = [&all, to, from, bytes, use = all.registration(from, bytes)] {
      std::memcpy(all.bytes_at(to, bytes), from, bytes);
    };
    if (all.is_pinned(from, bytes)) return gpu.copy(stream, gpu.to_device, bytes, move);
    if (bytes <= sent_with_the_command) return put_small_copy(stream, to, from, bytes);
    wait_for_copy(stream, lock, gpu.to_device, bytes, move);
  });
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream handle) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock& lock) {
    if (bytes == 0) return;
    Gpu& gpu = stream.gpu();
    Machine& all = gpu.machine();
    static_cast<void>(all.bytes_at(from, bytes));
    const auto move = [&all, to, from, bytes, use = all.registration(to, bytes)] {
      std::memcpy(to, all.bytes_at(from, bytes), bytes);
    };
    if (all.is_pinned(to, bytes)) return gpu.copy(stream, gpu.to_host, bytes, move);
    wait_for_copy(stream, lock, gpu.to_host, bytes, move);
  });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream handle) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock&) {
    if (bytes > 0) copy_on_devices(stream, to, from, bytes);
  });
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           std::size_t bytes, CUstream handle) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock&) {
    Machine& all = stream.gpu().machine();
    const auto expect_on = [&](CUdeviceptr address, CUcontext context) {
      expect(all.owner_of(address) == &all.context(context)->gpu, CUDA_ERROR_INVALID_VALUE,
             "the memory is not on the device of its context");
    };
    expect_on(to, to_context);
    expect_on(from, from_context);
    if (bytes > 0) copy_on_devices(stream, to, from, bytes);
  });
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream handle) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock& lock) {
    const CUDA_MEMCPY2D& c = *copy;
    const Plane from =
        plane(c.srcMemoryType, const_cast<void*>(c.srcHost), c.srcDevice, c.srcPitch, c.srcXInBytes, c.srcY);
    const Plane to = plane(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstPitch, c.dstXInBytes, c.dstY);
    Gpu& gpu = stream.gpu();
    CopyEngine& engine = to.host != nullptr ? gpu.to_host : gpu.to_device;
    wait_for_copy(stream, lock, engine, c.WidthInBytes * c.Height,
                  [&all = gpu.machine(), from, to, width = c.WidthInBytes, height = c.Height] {
                    for (std::size_t row = 0; row < height; ++row) {
                      std::memmove(to.row(all, row, width), from.row(all, row, width), width);
                    }
                  });
  });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream handle) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock&) {
    Gpu& gpu = stream.gpu();
    static_cast<void>(gpu.machine().bytes_at(to, bytes, gpu));
    gpu.put_on_sm(stream,
                  [&all = gpu.machine(), to, value, bytes] { std::memset(all.bytes_at(to, bytes), value, bytes); });
  });
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  return completed([&](CUstream stream) { return cuMemcpyHtoDAsync(to, from, bytes, stream); });
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  return completed([&](CUstream stream) { return cuMemcpyDtoHAsync(to, from, bytes, stream); });
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return completed([&](CUstream stream) { return cuMemcpyDtoDAsync(to, from, bytes, stream); });
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                      std::size_t bytes) {
  return completed(
      [&](CUstream stream) { return cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, stream); });
}

/// The direction follows from the addresses.
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  const auto is_of_host = [](CUdeviceptr address) {
    unsigned type = 0;
    return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS ||
           type == CU_MEMORYTYPE_HOST;
  };
  if (is_of_host(from)) return cuMemcpyHtoDAsync(to, reinterpret_cast<const void*>(from), bytes, stream);
  if (is_of_host(to)) return cuMemcpyDtoHAsync(reinterpret_cast<void*>(to), from, bytes, stream);
  return cuMemcpyDtoDAsync(to, from, bytes, stream);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return completed([&](CUstream stream) { return cuMemcpyAsync(to, from, bytes, stream); });
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, std::size_t bytes) {
  return completed([&](CUstream stream) { return cuMemsetD8Async(to, value, bytes, stream); });
}

}  // extern "C"
