// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress, and the functions for per-thread default streams, by whose names it finds them.
#include <dlfcn.h>

#include <string>

#include "driver/call.hpp"

namespace gpushare::stand_in {
namespace {

void* own_library() {
  Dl_info found{};
  dladdr(reinterpret_cast<void*>(&own_library), &found);
  return dlopen(found.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

/// Of the functions here, this one alone has other parameters than programs of an older CUDA know.
bool is_too_new(const std::string& name, const std::string& suffix, int cuda_version) {
  return name == "cuCtxSynchronize" && suffix == "_v2" && cuda_version < 13000;
}

/// The newest version of it that programs of this version of CUDA may know.
void* newest(const std::string& name, const char* flavour, int cuda_version) {
  static void* const library = own_library();
  for (const char* version : {"_v3", "_v2", ""}) {
    if (is_too_new(name, version, cuda_version)) continue;
    if (void* found = dlsym(library, (name + version + flavour).c_str())) return found;
  }
  return nullptr;
}

CUstream own_if_none(CUstream stream) { return stream != nullptr ? stream : CU_STREAM_PER_THREAD; }

CUresult awaited(CUresult started) {
  return started != CUDA_SUCCESS ? started : cuStreamSynchronize(CU_STREAM_PER_THREAD);
}

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

#define STAND_IN_VISIBLE __attribute__((visibility("default")))

extern "C" {

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  *function = nullptr;
  if ((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0) {
    *function = newest(name, "_ptsz", version);
    if (*function == nullptr) *function = newest(name, "_ptds", version);
  }
  if (*function == nullptr) *function = newest(name, "", version);
  const bool is_found = *function != nullptr;
  if (status != nullptr) *status = is_found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return is_found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

STAND_IN_VISIBLE CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                              CUstream stream, void** arguments, void** extra) {
  return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, own_if_none(stream),
                        arguments, extra);
}

STAND_IN_VISIBLE CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** arguments,
                                                void** extra) {
  CUlaunchConfig own = *config;
  own.hStream = own_if_none(config->hStream);
  return cuLaunchKernelEx(&own, function, arguments, extra);
}

STAND_IN_VISIBLE CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
  return cuGraphLaunch(graph, own_if_none(stream));
}

STAND_IN_VISIBLE CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  return cuMemAllocAsync(address, bytes, own_if_none(stream));
}

STAND_IN_VISIBLE CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  return cuMemFreeAsync(address, own_if_none(stream));
}

STAND_IN_VISIBLE CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void* from, std::size_t bytes,
                                                    CUstream stream) {
  return cuMemcpyHtoDAsync(to, from, bytes, own_if_none(stream));
}

STAND_IN_VISIBLE CUresult cuMemcpyDtoHAsync_v2_ptsz(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return cuMemcpyDtoHAsync(to, from, bytes, own_if_none(stream));
}

STAND_IN_VISIBLE CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void* from, std::size_t bytes) {
  return awaited(cuMemcpyHtoDAsync(to, from, bytes, CU_STREAM_PER_THREAD));
}

STAND_IN_VISIBLE CUresult cuMemcpyDtoH_v2_ptds(void* to, CUdeviceptr from, std::size_t bytes) {
  return awaited(cuMemcpyDtoHAsync(to, from, bytes, CU_STREAM_PER_THREAD));
}

}  // extern "C"
