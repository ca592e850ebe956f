// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory/shared_device_memory.hpp"

#include <algorithm>

#include "cuda/driver/driver.hpp"
#include "cuda/memory/host_copies.hpp"

namespace gpushare::cuda {
namespace {

CUmemAllocationProp shareable_on(CUdevice device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

/// The pool of ordinary memory holds freed memory: where memory is lacking here, it is released.
void trim_pool(Context& context) {
  const Drain drain = context.drain_requests().ask();
  CUmemoryPool pool = nullptr;
  GPUSHARE_CU(cuDeviceGetDefaultMemPool(&pool, context.device()));
  GPUSHARE_CU(cuMemPoolTrimTo(pool, 0));
}

CUmemGenericAllocationHandle create_shareable(Context& context, std::size_t bytes) {
  const CUmemAllocationProp properties = shareable_on(context.device());
  CUmemGenericAllocationHandle memory = 0;
  if (driver().cuMemCreate(&memory, bytes, &properties, 0) == CUDA_SUCCESS) return memory;
  trim_pool(context);
  GPUSHARE_CU(cuMemCreate(&memory, bytes, &properties, 0));
  return memory;
}

}  // namespace

DeviceUuid uuid_of(const Context& context) {
  CUuuid uuid{};
  GPUSHARE_CU(cuDeviceGetUuid(&uuid, context.device()));
  return std::to_array(uuid.bytes);
}

SharedContext visit(const DeviceUuid& uuid) {
  const int count = device_count();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUuuid found{};
    CUdevice device = 0;
    GPUSHARE_CU(cuDeviceGet(&device, ordinal));
    GPUSHARE_CU(cuDeviceGetUuid(&found, device));
    if (std::to_array(found.bytes) == uuid) return std::make_shared<Context>(ordinal, true);
  }
  throw CudaError("the GPU of this memory is none of the " + std::to_string(count) +
                  " that this process sees: check CUDA_VISIBLE_DEVICES");
}

std::size_t SharedDeviceMemory::rounded_up(const Context& context, std::size_t bytes) {
  const CUmemAllocationProp properties = shareable_on(context.device());
  std::size_t unit = 0;
  GPUSHARE_CU(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  return (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
}

std::unique_ptr<SharedDeviceMemory> SharedDeviceMemory::create(const SharedContext& context, std::size_t bytes) {
  const CurrentContext current(*context);
  std::unique_ptr<SharedDeviceMemory> made(new SharedDeviceMemory(context, rounded_up(*context, bytes)));
  made->memory_ = create_shareable(*context, made->bytes_);
  made->map();
  clear(*context, made->address_, made->bytes_);
  return made;
}

std::unique_ptr<SharedDeviceMemory> SharedDeviceMemory::imported(const SharedContext& context, int descriptor,
                                                                 std::size_t bytes) {
  const CurrentContext current(*context);
  std::unique_ptr<SharedDeviceMemory> made(new SharedDeviceMemory(context, bytes));
  void* shown = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  GPUSHARE_CU(cuMemImportFromShareableHandle(&made->memory_, shown, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  made->map();
  return made;
}

void SharedDeviceMemory::map() {
  GPUSHARE_CU(cuMemAddressReserve(&address_, bytes_, 0, 0, 0));
  GPUSHARE_CU(cuMemMap(address_, bytes_, 0, memory_, 0));
  is_mapped_ = true;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = context_->device();
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  GPUSHARE_CU(cuMemSetAccess(address_, bytes_, &access, 1));
}

SharedDeviceMemory::~SharedDeviceMemory() {
  if (context_->is_lost() || process_ != ::getpid()) return;
  const CurrentContext current(*context_);
  if (is_mapped_) GPUSHARE_CU_QUIETLY(cuMemUnmap(address_, bytes_));
  if (address_ != 0) GPUSHARE_CU_QUIETLY(cuMemAddressFree(address_, bytes_));
  if (memory_ != 0) GPUSHARE_CU_QUIETLY(cuMemRelease(memory_));
}

int SharedDeviceMemory::descriptor() const {
  int descriptor = -1;
  GPUSHARE_CU(cuMemExportToShareableHandle(&descriptor, memory_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  return descriptor;
}

}  // namespace gpushare::cuda
