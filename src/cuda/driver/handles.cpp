// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver/handles.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "cuda/driver/driver.hpp"
#include "cuda/memory/host_copies.hpp"

namespace gpushare::cuda {

void destroy_stream(CUstream stream) { GPUSHARE_CU_QUIETLY(cuStreamDestroy(stream)); }
void destroy_event(CUevent event) { GPUSHARE_CU_QUIETLY(cuEventDestroy(event)); }
// Behind everything that the default stream still does, and without waiting for it.
void free_device_memory(CUdeviceptr address) { GPUSHARE_CU_QUIETLY(cuMemFreeAsync(address, CU_STREAM_PER_THREAD)); }
void free_pinned_memory(void* address) { GPUSHARE_CU_QUIETLY(cuMemFreeHost(address)); }
void unload_module(CUmodule module) { GPUSHARE_CU_QUIETLY(cuModuleUnload(module)); }

void drain(const Stream& stream) {
  if (!stream.context()->is_lost()) GPUSHARE_CU_QUIETLY(cuStreamSynchronize(stream.get()));
}

Stream make_stream(const SharedContext& context, int priority) {
  const CurrentContext current(*context);
  CUstream stream = nullptr;
  GPUSHARE_CU(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, priority));
  return {context, stream};
}

Event make_event(const SharedContext& context) {
  const CurrentContext current(*context);
  CUevent event = nullptr;
  GPUSHARE_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  return {context, event};
}

DeviceMemory make_device_memory(const SharedContext& context, std::size_t bytes) {
  DeviceMemory memory = make_uncleared_memory(context, bytes);
  clear(*context, memory.get(), bytes);
  return memory;
}

DeviceMemory make_uncleared_memory(const SharedContext& context, std::size_t bytes) {
  const CurrentContext current(*context);
  CUdeviceptr address = 0;
  GPUSHARE_CU(cuMemAllocAsync(&address, std::max<std::size_t>(bytes, 1), CU_STREAM_PER_THREAD));
  DeviceMemory memory(context, address);
  GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
  return memory;
}

PinnedMemory make_pinned_memory(const SharedContext& context, std::size_t bytes) {
  const CurrentContext current(*context);
  void* address = nullptr;
  GPUSHARE_CU(cuMemHostAlloc(&address, bytes, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
  std::memset(address, 0, bytes);
  return {context, address};
}

LoadedModule load_module(const SharedContext& context, std::span<const char> cubin) {
  const Drain drain = context->drain_requests().ask();
  const CurrentContext current(*context);
  CUmodule module = nullptr;
  GPUSHARE_CU(cuModuleLoadData(&module, cubin.data()));
  return {context, module};
}

CUfunction find_function(const LoadedModule& module, const std::string& symbol) {
  const Drain drain = module.context()->drain_requests().ask();
  const CurrentContext current(*module.context());
  CUfunction function = nullptr;
  GPUSHARE_CU(cuModuleGetFunction(&function, module.get(), symbol.c_str()));
  GPUSHARE_CU(cuFuncLoad(function));
  return function;
}

CUdeviceptr device_address(const PinnedMemory& memory) {
  const CurrentContext current(*memory.context());
  CUdeviceptr address = 0;
  GPUSHARE_CU(cuMemHostGetDevicePointer(&address, memory.get(), 0));
  return address;
}

}  // namespace gpushare::cuda
