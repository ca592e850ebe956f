// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress hands out this library's functions, as the dynamic linker does.
#include <cstring>

#include "intercept/driver.hpp"

namespace gpushare::intercept {
namespace {

/// The meaning of a name from this version of CUDA on.
struct Meaning {
  const char* name;
  int since;
  void* usual;
  void* per_thread;  ///< with per-thread default streams
};

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

#define GPUSHARE_SAME(name, since, function) {name, since, address(&function), address(&function)}
#define GPUSHARE_BOTH(name, since, function) {name, since, address(&function), address(&function##_ptsz)}

/// Later versions of a name behind earlier ones.
const Meaning meanings[] = {
    GPUSHARE_SAME("cuInit", 0, cuInit),
    GPUSHARE_SAME("cuGetProcAddress", 0, cuGetProcAddress),
    GPUSHARE_SAME("cuGetProcAddress", 12000, cuGetProcAddress_v2),
    GPUSHARE_BOTH("cuLaunchKernel", 0, cuLaunchKernel),
    GPUSHARE_BOTH("cuLaunchKernelEx", 0, cuLaunchKernelEx),
    GPUSHARE_BOTH("cuLaunchCooperativeKernel", 0, cuLaunchCooperativeKernel),
    GPUSHARE_BOTH("cuGraphLaunch", 0, cuGraphLaunch),
    GPUSHARE_SAME("cuGraphInstantiate", 0, cuGraphInstantiate),
    GPUSHARE_SAME("cuGraphInstantiate", 11000, cuGraphInstantiate_v2),
    GPUSHARE_SAME("cuGraphInstantiate", 12000, cuGraphInstantiateWithFlags),
    GPUSHARE_SAME("cuGraphInstantiateWithFlags", 0, cuGraphInstantiateWithFlags),
    GPUSHARE_BOTH("cuGraphInstantiateWithParams", 0, cuGraphInstantiateWithParams),
    GPUSHARE_BOTH("cuStreamBeginCapture", 0, cuStreamBeginCapture),
    GPUSHARE_BOTH("cuStreamBeginCapture", 10010, cuStreamBeginCapture_v2),
    GPUSHARE_BOTH("cuStreamBeginCaptureToGraph", 0, cuStreamBeginCaptureToGraph),
    GPUSHARE_BOTH("cuStreamEndCapture", 0, cuStreamEndCapture),
    GPUSHARE_BOTH("cuStreamSynchronize", 0, cuStreamSynchronize),
    GPUSHARE_BOTH("cuStreamQuery", 0, cuStreamQuery),
    GPUSHARE_SAME("cuCtxSynchronize", 0, cuCtxSynchronize),
    GPUSHARE_SAME("cuCtxSynchronize", 13000, cuCtxSynchronize_v2),
    GPUSHARE_BOTH("cuEventRecord", 0, cuEventRecord),
    GPUSHARE_BOTH("cuEventRecordWithFlags", 0, cuEventRecordWithFlags),
    GPUSHARE_SAME("cuEventQuery", 0, cuEventQuery),
    GPUSHARE_SAME("cuEventSynchronize", 0, cuEventSynchronize),
    GPUSHARE_SAME("cuLibraryGetKernel", 0, cuLibraryGetKernel),
    GPUSHARE_SAME("cuLibraryEnumerateKernels", 0, cuLibraryEnumerateKernels),
    GPUSHARE_SAME("cuLibraryGetKernelCount", 0, cuLibraryGetKernelCount),
    GPUSHARE_SAME("cuModuleLoad", 0, cuModuleLoad),
    GPUSHARE_SAME("cuModuleGetFunctionCount", 0, cuModuleGetFunctionCount),
    GPUSHARE_SAME("cuModuleEnumerateFunctions", 0, cuModuleEnumerateFunctions),
    GPUSHARE_SAME("cuLibraryLoadFromFile", 0, cuLibraryLoadFromFile),
    GPUSHARE_SAME("cuModuleLoadData", 0, cuModuleLoadData),
    GPUSHARE_SAME("cuModuleLoadDataEx", 0, cuModuleLoadDataEx),
    GPUSHARE_SAME("cuModuleLoadFatBinary", 0, cuModuleLoadFatBinary),
    GPUSHARE_SAME("cuModuleUnload", 0, cuModuleUnload),
    GPUSHARE_SAME("cuLibraryLoadData", 0, cuLibraryLoadData),
    GPUSHARE_SAME("cuLibraryUnload", 0, cuLibraryUnload),
    GPUSHARE_SAME("cuCtxDestroy", 4000, cuCtxDestroy_v2),
    GPUSHARE_SAME("cuDevicePrimaryCtxReset", 11000, cuDevicePrimaryCtxReset_v2),
    GPUSHARE_SAME("cuDevicePrimaryCtxRelease", 11000, cuDevicePrimaryCtxRelease_v2),
    GPUSHARE_SAME("cuMemAlloc", 3020, cuMemAlloc_v2),
    GPUSHARE_SAME("cuMemAllocPitch", 3020, cuMemAllocPitch_v2),
    GPUSHARE_SAME("cuMemAllocManaged", 0, cuMemAllocManaged),
    GPUSHARE_SAME("cuMemFree", 3020, cuMemFree_v2),
    GPUSHARE_BOTH("cuMemAllocAsync", 0, cuMemAllocAsync),
    GPUSHARE_BOTH("cuMemAllocFromPoolAsync", 0, cuMemAllocFromPoolAsync),
    GPUSHARE_BOTH("cuMemFreeAsync", 0, cuMemFreeAsync),
    GPUSHARE_SAME("cuMemCreate", 0, cuMemCreate),
    GPUSHARE_SAME("cuMemRelease", 0, cuMemRelease),
    GPUSHARE_SAME("cuMemGetInfo", 3020, cuMemGetInfo_v2),
    GPUSHARE_SAME("cuDeviceTotalMem", 3020, cuDeviceTotalMem_v2),
    {"cuMemcpyHtoD", 3020, address(&cuMemcpyHtoD_v2), address(&cuMemcpyHtoD_v2_ptds)},
    {"cuMemcpyDtoH", 3020, address(&cuMemcpyDtoH_v2), address(&cuMemcpyDtoH_v2_ptds)},
    {"cuMemcpyHtoDAsync", 3020, address(&cuMemcpyHtoDAsync_v2), address(&cuMemcpyHtoDAsync_v2_ptsz)},
    {"cuMemcpyDtoHAsync", 3020, address(&cuMemcpyDtoHAsync_v2), address(&cuMemcpyDtoHAsync_v2_ptsz)},
    {"cuMemcpy", 4000, address(&cuMemcpy), address(&cuMemcpy_ptds)},
    GPUSHARE_BOTH("cuMemcpyAsync", 4000, cuMemcpyAsync),
    GPUSHARE_SAME("cuStreamDestroy", 4000, cuStreamDestroy_v2),
};

/// Some programs ask for a function by the name that it is exported by.
#define GPUSHARE_EXPORTED(function) {#function, 0, address(&::function), address(&::function)},
const Meaning exported[] = {GPUSHARE_INTERCEPTED(GPUSHARE_EXPORTED)};

bool is_meant(const Meaning& each, const char* name, int version) {
  return each.since <= version && std::strcmp(each.name, name) == 0;
}

const Meaning* meaning_of(const char* name, int version) {
  const Meaning* found = nullptr;
  for (const Meaning& each : meanings) {
    if (is_meant(each, name, version)) found = &each;
  }
  if (found != nullptr) return found;
  for (const Meaning& each : exported) {
    // "cuMemAlloc_v2", but not "cuMemAlloc" of CUDA 3.
    if (is_meant(each, name, version) && std::strchr(name, '_') != nullptr) return &each;
  }
  return nullptr;
}

/// Is the function the one of the CUDA version that this was built for? One of a later version may have other
/// parameters.
bool is_known_version(const char* name, const void* function, int version, cuuint64_t flags) {
  if (version <= CUDA_VERSION) return true;
  void* known = nullptr;
  call(real.cuGetProcAddress_v2, name, &known, int{CUDA_VERSION}, flags,
       static_cast<CUdriverProcAddressQueryResult*>(nullptr));
  return known == function;
}

/// Replaces a function that the driver has found by this library's. A name that the driver does not have stays unknown.
void replace(CUresult result, const char* name, void** function, int version, cuuint64_t flags) {
  if (result != CUDA_SUCCESS || name == nullptr || function == nullptr || *function == nullptr) return;
  const Meaning* meaning = meaning_of(name, version);
  if (meaning == nullptr || meaning->usual == nullptr || !is_known_version(name, *function, version, flags)) return;
  const bool is_per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  *function = is_per_thread ? meaning->per_thread : meaning->usual;
}

}  // namespace
}  // namespace gpushare::intercept

using namespace gpushare::intercept;

extern "C" {

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  const CUresult result = call(real.cuGetProcAddress, name, function, version, flags);
  replace(result, name, function, version, flags);
  return result;
}

CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  const CUresult result = call(real.cuGetProcAddress_v2, name, function, version, flags, status);
  replace(result, name, function, version, flags);
  return result;
}

}  // extern "C"
