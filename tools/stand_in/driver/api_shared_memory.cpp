// SPDX-License-Identifier: Apache-2.0
// The driver's functions for device memory that processes share, and for host memory that is pinned where it is.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "driver/call.hpp"
#include "device/limits.hpp"

namespace gpushare::stand_in {
namespace {

void expect_shareable(const CUmemAllocationProp& properties) {
  const bool is_right = properties.type == CU_MEM_ALLOCATION_TYPE_PINNED &&
                        properties.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
                        properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE && properties.location.id == 0;
  expect(is_right, CUDA_ERROR_INVALID_VALUE, "only memory of device 0 that goes by a file descriptor");
}

std::uint64_t add_handle(Gpu& device, std::shared_ptr<SharedFile> file) {
  const std::uint64_t handle = device.shared.next_handle++;
  device.shared.handles[handle] = std::move(file);
  return handle;
}

const std::shared_ptr<SharedFile>& file_of(Gpu& device, std::uint64_t handle) {
  const auto found = device.shared.handles.find(handle);
  expect(found != device.shared.handles.end(), CUDA_ERROR_INVALID_VALUE, "no such memory: it was released");
  return found->second;
}

AddressRange& range_at(Gpu& device, std::uint64_t address, std::size_t bytes) {
  const auto found = device.shared.ranges.find(address);
  expect(found != device.shared.ranges.end() && found->second.size == bytes, CUDA_ERROR_INVALID_VALUE,
         "this is no range of addresses that was reserved");
  return found->second;
}

/// Not where GPUSHARE_STAND_IN_PINS=0: some systems cannot.
bool pins_memory_of_programs() {
  const char* text = std::getenv("GPUSHARE_STAND_IN_PINS");
  return text == nullptr || std::string_view(text) != "0";
}

/// Whether every page is there.
bool is_mapped(const void* first, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(first) / page * page;
  return ::msync(reinterpret_cast<void*>(begin), reinterpret_cast<std::uintptr_t>(first) + bytes - begin, MS_ASYNC) ==
         0;
}

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

CUresult cuMemGetAllocationGranularity(std::size_t* unit, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags) {
  return answer(__func__, [&] {
    expect_shareable(*properties);
    *unit = SharedFile::unit;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    expect_shareable(*properties);
    expect(bytes > 0 && bytes % SharedFile::unit == 0, CUDA_ERROR_INVALID_VALUE, "not a multiple of the granularity");
    const std::size_t taken = device.allocated_bytes + device.shared.taken_bytes();
    if (bytes > Limits::memory - taken) throw Denial(CUDA_ERROR_OUT_OF_MEMORY, "the device is full");
    auto file = std::make_shared<SharedFile>(bytes);
    std::ranges::fill(file->bytes().first(SharedFile::unit), poison);  // all of it would take the host long
    std::ranges::fill(file->bytes().last(SharedFile::unit), poison);
    device.shared.own.push_back(file);
    *handle = add_handle(device, std::move(file));
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    static_cast<void>(file_of(device, handle));
    device.shared.handles.erase(handle);
  });
}

CUresult cuMemExportToShareableHandle(void* to, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    expect(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED, "only file descriptors");
    *static_cast<int*>(to) = ::fcntl(file_of(device, handle)->descriptor(), F_DUPFD_CLOEXEC, 0);
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* from,
                                        CUmemAllocationHandleType type) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    expect(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED, "only file descriptors");
    *handle = add_handle(device, SharedFile::received(static_cast<int>(reinterpret_cast<std::intptr_t>(from))));
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr wanted,
                             unsigned long long) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    expect(bytes > 0 && bytes % SharedFile::unit == 0, CUDA_ERROR_INVALID_VALUE, "not a multiple of the granularity");
    expect(wanted == 0, CUDA_ERROR_NOT_SUPPORTED, "addresses are the stand-in's choice");
    *address = device.memory.reserve(bytes, SharedFile::unit);
    device.shared.ranges[*address] = {.size = bytes};
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    expect(range_at(device, address, bytes).mapped == nullptr, CUDA_ERROR_INVALID_VALUE, "something is mapped there");
    device.shared.ranges.erase(address);
  });
}

CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    AddressRange& range = range_at(device, address, bytes);
    const std::shared_ptr<SharedFile>& file = file_of(device, handle);
    expect(range.mapped == nullptr, CUDA_ERROR_INVALID_VALUE, "something is mapped there already");
    expect(offset == 0 && file->bytes().size() == bytes, CUDA_ERROR_INVALID_VALUE, "the memory has another size");
    range.mapped = file;
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    AddressRange& range = range_at(device, address, bytes);
    expect(range.mapped != nullptr && !range.is_shown, CUDA_ERROR_INVALID_VALUE, "nothing is mapped there");
    expect(count == 1 && access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE && access->location.id == 0,
           CUDA_ERROR_NOT_SUPPORTED, "only device 0, which may read and write");
    device.memory.show(address, range.mapped->bytes(), "shared memory");
    range.is_shown = true;
  });
}

CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    AddressRange& range = range_at(device, address, bytes);
    expect(range.mapped != nullptr, CUDA_ERROR_INVALID_VALUE, "nothing is mapped there");
    if (range.is_shown) device.memory.release(address);
    range.mapped.reset();
    range.is_shown = false;
  });
}

CUresult cuMemHostRegister(void* address, std::size_t bytes, unsigned flags) {
  return answer_in_context(__func__, [&](Gpu& device, Gpu::Turn& turn) {
    device.expect_no_capture();
    if (!pins_memory_of_programs()) throw Denial(CUDA_ERROR_NOT_SUPPORTED, "as GPUSHARE_STAND_IN_PINS=0 asks for");
    expect(bytes > 0 && is_mapped(address, bytes), CUDA_ERROR_INVALID_VALUE, "no memory of this process");
    auto had_room = std::make_shared<bool>(false);
    device.put_on_sm(CU_STREAM_PER_THREAD, [had_room] { *had_room = true; });
    turn.wait_until([&] { return *had_room; });
    expect(!device.is_pinned(address, bytes), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "it is pinned already");
    auto* first = static_cast<std::byte*>(address);
    const bool is_for_kernels = (flags & CU_MEMHOSTREGISTER_DEVICEMAP) != 0;
    const std::uint64_t on_device = is_for_kernels ? device.memory.map({first, bytes}, "registered memory") : 0;
    device.registered[first] = {.size = bytes, .device_address = on_device};
  });
}

CUresult cuMemHostUnregister(void* address) {
  return answer_in_context(__func__, [&](Gpu& device, Gpu::Turn& turn) {
    turn.wait_until(device.end_of_kernels());
    const auto found = device.registered.find(static_cast<std::byte*>(address));
    expect(found != device.registered.end(), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "it is not registered");
    expect(found->second.use.use_count() == 1, CUDA_ERROR_INVALID_VALUE, "a copy from or to it has not ended");
    const std::size_t bytes = found->second.size;
    if (found->second.device_address != 0) device.memory.release(found->second.device_address);
    device.registered.erase(found);  // in any case: other memory may come to lie there
    expect(is_mapped(address, bytes), CUDA_ERROR_INVALID_VALUE, "it was unmapped while registered");
  });
}

}  // extern "C"
