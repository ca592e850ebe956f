// SPDX-License-Identifier: Apache-2.0
// The driver's functions for device memory that processes share, and for host memory that is pinned where it is.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string_view>

#include "device/limits.hpp"
#include "driver/call.hpp"

namespace gpushare::stand_in {
namespace {

/// The device that such memory is to be on.
Gpu& device_of(const CUmemAllocationProp& properties) {
  const bool is_right = properties.type == CU_MEM_ALLOCATION_TYPE_PINNED &&
                        properties.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
                        properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  expect(is_right, CUDA_ERROR_INVALID_VALUE, "only memory of a device that goes by a file descriptor");
  return machine().gpu(properties.location.id);
}

std::uint64_t add_handle(SharedMemories& shared, std::shared_ptr<SharedFile> file) {
  const std::uint64_t handle = shared.next_handle++;
  shared.handles[handle] = std::move(file);
  return handle;
}

const std::shared_ptr<SharedFile>& file_of(const SharedMemories& shared, std::uint64_t handle) {
  const auto found = shared.handles.find(handle);
  expect(found != shared.handles.end(), CUDA_ERROR_INVALID_VALUE, "no such memory: it was released");
  return found->second;
}

AddressRange& range_at(SharedMemories& shared, std::uint64_t address, std::size_t bytes) {
  const auto found = shared.ranges.find(address);
  expect(found != shared.ranges.end() && found->second.size == bytes, CUDA_ERROR_INVALID_VALUE,
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
    static_cast<void>(device_of(*properties));
    *unit = SharedFile::unit;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    Gpu& gpu = device_of(*properties);
    gpu.expect_healthy();
    expect(bytes > 0 && bytes % SharedFile::unit == 0, CUDA_ERROR_INVALID_VALUE, "not a multiple of the granularity");
    gpu.expect_room(bytes);
    auto file = std::make_shared<SharedFile>(gpu.ordinal(), bytes);
    std::ranges::fill(file->bytes().first(SharedFile::unit), poison);  // all of it would take the host long
    std::ranges::fill(file->bytes().last(SharedFile::unit), poison);
    gpu.files().add(file);
    *handle = add_handle(all.shared, std::move(file));
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    static_cast<void>(file_of(all.shared, handle));
    all.shared.handles.erase(handle);
  });
}

CUresult cuMemExportToShareableHandle(void* to, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    expect(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED, "only file descriptors");
    *static_cast<int*>(to) = ::fcntl(file_of(all.shared, handle)->descriptor(), F_DUPFD_CLOEXEC, 0);
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* from,
                                        CUmemAllocationHandleType type) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    expect(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED, "only file descriptors");
    auto file = SharedFile::received(static_cast<int>(reinterpret_cast<std::intptr_t>(from)));
    all.gpu(file->device()).expect_healthy();
    *handle = add_handle(all.shared, std::move(file));
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr wanted,
                             unsigned long long) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    expect(bytes > 0 && bytes % SharedFile::unit == 0, CUDA_ERROR_INVALID_VALUE, "not a multiple of the granularity");
    expect(wanted == 0, CUDA_ERROR_NOT_SUPPORTED, "addresses are the stand-in's choice");
    *address = all.memory.reserve(bytes, SharedFile::unit);
    all.shared.ranges[*address] = {.size = bytes};
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    const AddressRange& range = range_at(all.shared, address, bytes);
    expect(range.mapped == nullptr, CUDA_ERROR_INVALID_VALUE, "something is mapped there");
    all.shared.ranges.erase(address);
  });
}

CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    AddressRange& range = range_at(all.shared, address, bytes);
    const std::shared_ptr<SharedFile>& file = file_of(all.shared, handle);
    expect(range.mapped == nullptr, CUDA_ERROR_INVALID_VALUE, "something is mapped there already");
    expect(offset == 0 && file->bytes().size() == bytes, CUDA_ERROR_INVALID_VALUE, "the memory has another size");
    range.mapped = file;
  });
}

/// Peer access has nothing to do with it: each device that may access the memory is named here.
CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    AddressRange& range = range_at(all.shared, address, bytes);
    expect(range.mapped != nullptr && count > 0, CUDA_ERROR_INVALID_VALUE, "nothing is mapped there");
    const bool was_shown = range.accessible_to != 0;
    for (const CUmemAccessDesc& each : std::span(access, count)) {
      const bool is_right =
          each.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE && each.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
      expect(is_right, CUDA_ERROR_NOT_SUPPORTED, "only devices, which may read and write");
      range.accessible_to |= all.gpu(each.location.id).bit();
    }
    if (!was_shown) all.memory.show(address, range.mapped->bytes(), "shared memory");
    all.memory.let_access(address, range.accessible_to);
  });
}

CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    AddressRange& range = range_at(all.shared, address, bytes);
    expect(range.mapped != nullptr, CUDA_ERROR_INVALID_VALUE, "nothing is mapped there");
    if (range.accessible_to != 0) all.memory.release(address);
    range.mapped.reset();
    range.accessible_to = 0;
  });
}

CUresult cuMemHostRegister(void* address, std::size_t bytes, unsigned flags) {
  return answer_in_context(__func__, [&](Gpu& gpu, Machine::Lock& lock) {
    Machine& all = gpu.machine();
    all.expect_no_capture();
    if (!pins_memory_of_programs()) throw Denial(CUDA_ERROR_NOT_SUPPORTED, "as GPUSHARE_STAND_IN_PINS=0 asks for");
    expect(bytes > 0 && is_mapped(address, bytes), CUDA_ERROR_INVALID_VALUE, "no memory of this process");
    lock.wait_until(gpu, [&] { return gpu.has_room_for_driver(); });
    expect(!all.is_pinned(address, bytes), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "it is pinned already");
    auto* first = static_cast<std::byte*>(address);
    const bool is_for_kernels = (flags & CU_MEMHOSTREGISTER_DEVICEMAP) != 0;
    const std::uint64_t on_device = is_for_kernels ? all.memory.map({first, bytes}, "registered memory") : 0;
    all.registered[first] = {.size = bytes, .device_address = on_device};
  });
}

CUresult cuMemHostUnregister(void* address) {
  return answer_in_context(__func__, [&](Gpu& gpu, Machine::Lock& lock) {
    Machine& all = gpu.machine();
    lock.wait_until(gpu, all.end_of_kernels());
    const auto found = all.registered.find(static_cast<std::byte*>(address));
    expect(found != all.registered.end(), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "it is not registered");
    expect(found->second.use.use_count() == 1, CUDA_ERROR_INVALID_VALUE, "a copy from or to it has not ended");
    const std::size_t bytes = found->second.size;
    if (found->second.device_address != 0) all.memory.release(found->second.device_address);
    all.registered.erase(found);  // in any case: other memory may come to lie there
    expect(is_mapped(address, bytes), CUDA_ERROR_INVALID_VALUE, "it was unmapped while registered");
  });
}

}  // extern "C"
