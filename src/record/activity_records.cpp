// SPDX-License-Identifier: Apache-2.0
#include "record/activity_records.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace gpushare::recording {
namespace {

/// Templates of templates have names of many kilobytes.
constexpr std::size_t longest_name = 2000;

template <typename Record>
const Record& as(const CUpti_Activity& activity) {
  return reinterpret_cast<const Record&>(activity);
}

KernelRecord kernel(const CUpti_ActivityKernel10& seen, std::uint32_t name) {
  const auto size = [](std::int32_t count) { return static_cast<std::uint32_t>(count); };
  return {.start = seen.start,
          .end = seen.end,
          .device = seen.deviceId,
          .context = seen.contextId,
          .stream = seen.streamId,
          .correlation = seen.correlationId,
          .name = name,
          .grid = {size(seen.gridX), size(seen.gridY), size(seen.gridZ)},
          .block = {size(seen.blockX), size(seen.blockY), size(seen.blockZ)},
          .registers_per_thread = seen.registersPerThread,
          .static_shared_bytes = size(seen.staticSharedMemory),
          .dynamic_shared_bytes = size(seen.dynamicSharedMemory),
          .graph = seen.graphId};
}

CopyRecord copy(const CUpti_ActivityMemcpy6& seen) {
  const bool is_asynchronous = (seen.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0;
  return {.start = seen.start,
          .end = seen.end,
          .bytes = seen.bytes,
          .device = seen.deviceId,
          .context = seen.contextId,
          .stream = seen.streamId,
          .correlation = seen.correlationId,
          .direction = seen.copyKind,
          .source_memory = seen.srcKind,
          .target_memory = seen.dstKind,
          .is_asynchronous = static_cast<std::uint8_t>(is_asynchronous)};
}

MemsetRecord memset(const CUpti_ActivityMemset4& seen) {
  return {.start = seen.start,
          .end = seen.end,
          .bytes = seen.bytes,
          .device = seen.deviceId,
          .context = seen.contextId,
          .stream = seen.streamId,
          .correlation = seen.correlationId};
}

WaitRecord wait(const CUpti_ActivitySynchronization2& seen) {
  return {.start = seen.start,
          .end = seen.end,
          .what = static_cast<std::uint32_t>(seen.type),
          .context = seen.contextId,
          .stream = seen.streamId,
          .correlation = seen.correlationId};
}

MemoryRecord memory(const CUpti_ActivityMemory4& seen) {
  return {.time = seen.timestamp,
          .address = seen.address,
          .bytes = seen.bytes,
          .device = seen.deviceId,
          .what = static_cast<std::uint32_t>(seen.memoryOperationType),
          .memory = static_cast<std::uint32_t>(seen.memoryKind),
          .context = seen.contextId};
}

CallRecord call(const CUpti_ActivityAPI& seen, bool is_runtime) {
  return {.start = seen.start,
          .end = seen.end,
          .interface = static_cast<std::uint32_t>(is_runtime),
          .function = seen.cbid,
          .thread = seen.threadId,
          .correlation = seen.correlationId};
}

DeviceRecord device(const CUpti_ActivityDevice5& seen) {
  return {.device = seen.id,
          .sms = seen.numMultiprocessors,
          .warps_per_sm = seen.maxWarpsPerMultiprocessor,
          .blocks_per_sm = seen.maxBlocksPerMultiprocessor,
          .registers_per_sm = seen.maxRegistersPerMultiprocessor,
          .shared_bytes_per_sm = seen.maxSharedMemoryPerMultiprocessor,
          .threads_per_warp = seen.numThreadsPerWarp,
          .clock_khz = seen.coreClockRate,
          .capability_major = seen.computeCapabilityMajor,
          .capability_minor = seen.computeCapabilityMinor,
          .memory_bytes = seen.globalMemorySize,
          .kilobytes_per_second = seen.globalMemoryBandwidth};
}

}  // namespace

std::string readable(const char* name) {
  if (name == nullptr) return "(no name)";
  // Without the prefix it is a C function's name: "f" would be demangled as the type float.
  if (std::string_view(name).substr(0, 2) != "_Z") return std::string(name).substr(0, longest_name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return std::string(status == 0 ? text.get() : name).substr(0, longest_name);
}

std::uint32_t KernelNames::number_of(const char* name, RecordBatch& batch) {
  const std::lock_guard lock(mutex_);
  const auto next = static_cast<std::uint32_t>(numbers_.size());
  const auto [known, is_new] = numbers_.try_emplace(name == nullptr ? "" : name, next);
  if (is_new) batch.add(KernelNameRecord{.name = next}, readable(name));
  return known->second;
}

void add_activity(const CUpti_Activity& activity, KernelNames& names, RecordBatch& batch) {
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& seen = as<CUpti_ActivityKernel10>(activity);
      const std::uint32_t name = names.number_of(seen.name, batch);
      return batch.add(kernel(seen, name));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return batch.add(copy(as<CUpti_ActivityMemcpy6>(activity)));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return batch.add(memset(as<CUpti_ActivityMemset4>(activity)));
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return batch.add(wait(as<CUpti_ActivitySynchronization2>(activity)));
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return batch.add(memory(as<CUpti_ActivityMemory4>(activity)));
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return batch.add(call(as<CUpti_ActivityAPI>(activity), activity.kind == CUPTI_ACTIVITY_KIND_RUNTIME));
    case CUPTI_ACTIVITY_KIND_DEVICE: {
      const auto& seen = as<CUpti_ActivityDevice5>(activity);
      return batch.add(device(seen), seen.name != nullptr ? seen.name : "");
    }
    default:
      return;
  }
}

}  // namespace gpushare::recording
