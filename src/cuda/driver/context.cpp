// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver/context.hpp"

#include <array>
#include <cstring>

#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {
namespace {

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  GPUSHARE_CU(cuDeviceGetAttribute(&value, which, device));
  return value;
}

std::string name_of(CUdevice device) {
  std::array<char, 256> name{};
  GPUSHARE_CU(cuDeviceGetName(name.data(), static_cast<int>(name.size()), device));
  return name.data();
}

/// Bandwidths and delays stay unknown: the driver does not report them, a device model does (know_as). SMs are taken to
/// serve their oldest blocks first, as those that were measured do: if that is wrong, sharing begins more carefully
/// than it had to.
Device describe(CUdevice device) {
  const auto get = [device](CUdevice_attribute which) { return attribute(device, which); };
  const int threads = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  const int warp = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  Device found;
  found.name = name_of(device);
  found.sms = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  found.clock_hz = 1e3 * get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  found.per_sm = {.threads = threads,
                  .warps = threads / warp,
                  .blocks = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
                  .registers = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
                  .shared_memory = Bytes{get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)},
                  .issue_order = IssueOrder::OldestFirst};
  found.granularity.threads_per_warp = warp;
  found.granularity.reserved_shared_memory = Bytes{get(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)};
  // The values of PCIe 4.0 x16, so that a description is complete; real copies are measured, not modelled.
  found.to_device = found.to_host = {.latency = Duration(4'000), .bandwidth = {25e9}};
  return found;
}

std::vector<int> stream_priorities_of_current_context() {
  int least = 0;
  int greatest = 0;
  GPUSHARE_CU(cuCtxGetStreamPriorityRange(&least, &greatest));
  std::vector<int> priorities;
  for (int priority = greatest; priority <= least; ++priority) priorities.push_back(priority);
  return priorities;
}

/// Freed memory stays with the process: giving it back would wait for every running kernel.
void keep_freed_memory(CUdevice device) {
  CUmemoryPool pool = nullptr;
  GPUSHARE_CU(cuDeviceGetDefaultMemPool(&pool, device));
  cuuint64_t everything = ~cuuint64_t{0};
  GPUSHARE_CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &everything));
}

/// Pinned beforehand: pinning memory may wait for running kernels.
std::span<std::byte> pinned_zeros() {
  constexpr std::size_t bytes = std::size_t{4} << 20;  // one copy takes 80 us, so that starting it does not matter
  void* first = nullptr;
  GPUSHARE_CU(cuMemHostAlloc(&first, bytes, CU_MEMHOSTALLOC_PORTABLE));
  std::memset(first, 0, bytes);
  return {static_cast<std::byte*>(first), bytes};
}

void free_pinned(CUcontext context, void* memory) {
  CUcontext popped = nullptr;
  if (driver().cuCtxPushCurrent(context) != CUDA_SUCCESS) return;
  GPUSHARE_CU_QUIETLY(cuMemFreeHost(memory));
  GPUSHARE_CU_QUIETLY(cuCtxPopCurrent(&popped));
}

}  // namespace

int device_count() {
  try {
    int count = 0;
    GPUSHARE_CU(cuDeviceGetCount(&count));
    return count;
  } catch (const CudaError&) {
    return 0;
  }
}

std::vector<std::string> device_uuids() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::vector<std::string> names;
  for (int ordinal = 0; ordinal < device_count(); ++ordinal) {
    CUdevice device = 0;
    CUuuid uuid{};
    GPUSHARE_CU(cuDeviceGet(&device, ordinal));
    GPUSHARE_CU(cuDeviceGetUuid(&uuid, device));
    std::string& name = names.emplace_back("GPU");
    for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
      if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) name += '-';
      const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
      name += {digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return names;
}

Context::Context(int ordinal, bool is_visitor) {
  int count = 0;
  GPUSHARE_CU(cuDeviceGetCount(&count));
  if (ordinal < 0 || ordinal >= count) {
    throw CudaError("no device cuda:" + std::to_string(ordinal) + ": there are " + std::to_string(count) +
                    " GPUs, numbered from 0");
  }
  GPUSHARE_CU(cuDeviceGet(&device_, ordinal));
  description_ = describe(device_);
  description_.memory = Bytes{static_cast<std::int64_t>(memory_bytes())};
  architecture_ = "sm_" + std::to_string(attribute(device_, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) +
                  std::to_string(attribute(device_, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  GPUSHARE_CU(cuDevicePrimaryCtxRetain(&context_, device_));
  const CurrentContext current(*this);
  stream_priorities_ = stream_priorities_of_current_context();
  if (is_visitor) return;
  keep_freed_memory(device_);
  zeros_ = pinned_zeros();
}

Context::~Context() {
  if (is_lost_) return;
  drain_requests_.free_left();
  if (!zeros_.empty()) free_pinned(context_, zeros_.data());
  GPUSHARE_CU_QUIETLY(cuDevicePrimaryCtxRelease(device_));
}

void Context::know_as(const Device& model) {
  description_.off_sm = model.off_sm;
  description_.per_sm.issue_order = model.per_sm.issue_order;
  description_.per_sm.shared_memory_splits = model.per_sm.shared_memory_splits;
  description_.flops_per_s = model.flops_per_s;
  description_.tuning = model.tuning;
  description_.runtime = model.runtime;
}

void Context::abandon() { is_lost_ = true; }

bool Context::is_lost() const { return is_lost_; }

std::size_t Context::memory_bytes() const {
  std::size_t bytes = 0;
  GPUSHARE_CU(cuDeviceTotalMem(&bytes, device_));
  return bytes;
}

CurrentContext::CurrentContext(CUcontext context) { GPUSHARE_CU(cuCtxPushCurrent(context)); }

CurrentContext::~CurrentContext() {
  CUcontext popped = nullptr;
  GPUSHARE_CU_QUIETLY(cuCtxPopCurrent(&popped));
}

}  // namespace gpushare::cuda
