// SPDX-License-Identifier: Apache-2.0
// Device memory: the usage of the program's processes, its limit, and the free and total memory that they see.
#include <algorithm>
#include <cstdint>

#include "intercept/calls/allocations.hpp"
#include "intercept/calls/captures.hpp"
#include "intercept/membership.hpp"
#include "intercept/phases.hpp"

namespace gpushare::intercept {
namespace {

using programs::ProgramPage;

std::uint64_t bytes_of_program(ProgramPage& page) {
  std::uint64_t sum = 0;
  for (programs::ProcessSlot& slot : page.processes) {
    if (slot.pid.load() != 0) sum += slot.memory_bytes.load();
  }
  return sum;
}

bool is_within_limit(ProgramPage& page) {
  const std::uint64_t limit = page.memory_limit_bytes;
  if (limit == 0 || bytes_of_program(page) <= limit) return true;
  release_dead_slots(page);
  return bytes_of_program(page) <= limit;
}

/// Bytes that are counted before they are allocated, so that two processes that allocate the last ones at the same time
/// cannot exceed the limit together. Released unless confirmed.
class Reservation {
 public:
  Reservation(const Membership& member, std::uint64_t bytes) : member_(member), bytes_(bytes) {
    const std::uint64_t limit = member.page->memory_limit_bytes;
    if (limit != 0 && bytes > limit) {
      bytes_ = 0;  // counting it for a moment would make other processes fail
      return;
    }
    member.slot->memory_bytes += bytes;
    is_granted_ = is_within_limit(*member.page);
  }
  ~Reservation() {
    if (!is_confirmed_) member_.slot->memory_bytes -= bytes_;
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  bool is_granted() const { return is_granted_; }
  /// The allocation may have become larger than requested.
  void keep(AllocationKey key, std::uint64_t bytes) {
    member_.slot->memory_bytes += bytes - bytes_;
    is_confirmed_ = true;
    remember_allocation(key, bytes);
  }

 private:
  const Membership& member_;
  std::uint64_t bytes_;
  bool is_granted_ = false;
  bool is_confirmed_ = false;
};

/// `allocate` calls the driver; `key` and `bytes_got` then give the result.
template <class Allocate, class Key, class Bytes>
CUresult allocated(std::uint64_t bytes, const Allocate& allocate, const Key& key, const Bytes& bytes_got) {
  const Membership* member = this_member();
  if (member == nullptr) return allocate();
  Reservation reservation(*member, bytes);
  if (!reservation.is_granted()) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = allocate();
  if (result == CUDA_SUCCESS) reservation.keep(key(), bytes_got());
  return result;
}

template <class Allocate>
CUresult allocated_at(const CUdeviceptr* address, std::uint64_t bytes, const Allocate& allocate) {
  return allocated(bytes, allocate, [&] { return AllocationKey{*address}; }, [&] { return bytes; });
}

/// In a stream that is captured it becomes a node of the graph, and the graph's memory.
template <class Allocate>
CUresult allocated_in_stream(const CUdeviceptr* address, std::uint64_t bytes, CUstream stream,
                             const Allocate& allocate) {
  return is_captured(stream) ? allocate() : allocated_at(address, bytes, allocate);
}

/// Removed before it is freed: afterwards another thread may get the same address.
template <class Free>
CUresult freed(AllocationKey key, const Free& free) {
  const Membership* member = this_member();
  const std::uint64_t bytes = member != nullptr ? forget_allocation(key) : 0;
  const CUresult result = free();
  if (bytes == 0) return result;
  if (result == CUDA_SUCCESS) {
    member->slot->memory_bytes -= bytes;
  } else {
    remember_allocation(key, bytes);
  }
  return result;
}

std::uint64_t limit_or(std::uint64_t otherwise) {
  const Membership* member = this_member();
  const std::uint64_t limit = member != nullptr ? member->page->memory_limit_bytes : 0;
  return limit != 0 ? std::min(limit, otherwise) : otherwise;
}

}  // namespace
}  // namespace gpushare::intercept

using namespace gpushare::intercept;

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return allocated_at(address, bytes, [&] { return call(real.cuMemAlloc_v2, address, bytes); });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return allocated_at(address, bytes, [&] { return call(real.cuMemAllocManaged, address, bytes, flags); });
}

/// The driver chooses the width of the rows.
CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element) {
  return allocated(
      std::uint64_t{width} * height,
      [&] { return call(real.cuMemAllocPitch_v2, address, pitch, width, height, element); },
      [&] { return AllocationKey{*address}; }, [&] { return std::uint64_t{*pitch} * height; });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  const auto create = [&] { return call(real.cuMemCreate, handle, bytes, properties, flags); };
  if (properties == nullptr || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return create();
  return allocated(
      bytes, create, [&] { return AllocationKey{*handle, AllocationKind::Handle}; }, [&] { return bytes; });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return freed({handle, AllocationKind::Handle}, [&] { return call(real.cuMemRelease, handle); });
}

/// It waits for the device.
CUresult cuMemFree_v2(CUdeviceptr address) {
  complete_task();
  return freed({address}, [&] { return call(real.cuMemFree_v2, address); });
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  const CUresult result = call(real.cuMemGetInfo_v2, free, total);
  const Membership* member = this_member();
  if (result != CUDA_SUCCESS || member == nullptr || member->page->memory_limit_bytes == 0) return result;
  release_dead_slots(*member->page);
  const std::uint64_t limit = limit_or(*total);
  *free = std::min<std::uint64_t>(*free, limit - std::min(limit, bytes_of_program(*member->page)));
  *total = limit;
  return result;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  const CUresult result = call(real.cuDeviceTotalMem_v2, bytes, device);
  if (result == CUDA_SUCCESS) *bytes = limit_or(*bytes);
  return result;
}

#define GPUSHARE_IN_STREAMS(suffix, otherwise)                                                                       \
  CUresult cuMemAllocAsync##suffix(CUdeviceptr* address, size_t bytes, CUstream stream) {                            \
    return allocated_in_stream(address, bytes, named(stream, otherwise),                                             \
                               [&] { return call(real.cuMemAllocAsync##suffix, address, bytes, stream); });          \
  }                                                                                                                  \
  CUresult cuMemAllocFromPoolAsync##suffix(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) { \
    return allocated_in_stream(address, bytes, named(stream, otherwise), [&] {                                       \
      return call(real.cuMemAllocFromPoolAsync##suffix, address, bytes, pool, stream);                               \
    });                                                                                                              \
  }                                                                                                                  \
  CUresult cuMemFreeAsync##suffix(CUdeviceptr address, CUstream stream) {                                            \
    return freed({address}, [&] { return call(real.cuMemFreeAsync##suffix, address, stream); });                     \
  }

GPUSHARE_IN_STREAMS(, DefaultStream::Legacy)
GPUSHARE_IN_STREAMS(_ptsz, DefaultStream::PerThread)

}  // extern "C"
