// SPDX-License-Identifier: Apache-2.0
// The CUDA driver, opened at first use. Nothing else of gpushare links or loads libcuda.
#pragma once

#include <cuda.h>

#include "cuda/driver/shared_library.hpp"

namespace gpushare::cuda {

// cuda.h renames functions to their newest versions; going through an argument expands the new name.
#define GPUSHARE_DRIVER_FUNCTIONS(F)             \
  F(cuInit)                                      \
  F(cuDriverGetVersion)                          \
  F(cuGetErrorName)                              \
  F(cuGetErrorString)                            \
  F(cuDeviceGetCount)                            \
  F(cuDeviceGet)                                 \
  F(cuDeviceGetName)                             \
  F(cuDeviceGetAttribute)                        \
  F(cuDeviceTotalMem)                            \
  F(cuDeviceGetUuid)                             \
  F(cuDeviceGetDefaultMemPool)                   \
  F(cuDeviceCanAccessPeer)                       \
  F(cuDeviceGetP2PAttribute)                     \
  F(cuDevicePrimaryCtxRetain)                    \
  F(cuDevicePrimaryCtxRelease)                   \
  F(cuCtxPushCurrent)                            \
  F(cuCtxPopCurrent)                             \
  F(cuCtxSynchronize)                            \
  F(cuCtxGetStreamPriorityRange)                 \
  F(cuModuleLoadData)                            \
  F(cuModuleUnload)                              \
  F(cuModuleGetFunction)                         \
  F(cuModuleGetGlobal)                           \
  F(cuFuncLoad)                                  \
  F(cuFuncGetAttribute)                          \
  F(cuFuncSetAttribute)                          \
  F(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  F(cuLaunchKernel)                              \
  F(cuMemPoolSetAttribute)                       \
  F(cuMemPoolGetAccess)                          \
  F(cuMemPoolSetAccess)                          \
  F(cuMemPoolTrimTo)                             \
  F(cuMemAllocAsync)                             \
  F(cuMemFreeAsync)                              \
  F(cuMemHostAlloc)                              \
  F(cuMemFreeHost)                               \
  F(cuMemHostGetDevicePointer)                   \
  F(cuMemHostRegister)                           \
  F(cuMemHostUnregister)                         \
  F(cuMemGetAllocationGranularity)               \
  F(cuMemCreate)                                 \
  F(cuMemRelease)                                \
  F(cuMemAddressReserve)                         \
  F(cuMemAddressFree)                            \
  F(cuMemMap)                                    \
  F(cuMemUnmap)                                  \
  F(cuMemSetAccess)                              \
  F(cuMemExportToShareableHandle)                \
  F(cuMemImportFromShareableHandle)              \
  F(cuMemcpyHtoDAsync)                           \
  F(cuMemcpyDtoHAsync)                           \
  F(cuMemcpyDtoDAsync)                           \
  F(cuMemcpy2DAsync)                             \
  F(cuMemsetD8Async)                             \
  F(cuStreamCreateWithPriority)                  \
  F(cuStreamDestroy)                             \
  F(cuStreamSynchronize)                         \
  F(cuStreamQuery)                               \
  F(cuStreamWaitEvent)                           \
  F(cuStreamWriteValue32)                        \
  F(cuEventCreate)                               \
  F(cuEventDestroy)                              \
  F(cuEventRecord)                               \
  F(cuEventQuery)                                \
  F(cuEventElapsedTime)                          \
  F(cuDeviceGetDevResource)                      \
  F(cuDevSmResourceSplitByCount)                 \
  F(cuDevResourceGenerateDesc)                   \
  F(cuGreenCtxCreate)                            \
  F(cuGreenCtxDestroy)                           \
  F(cuGreenCtxStreamCreate)                      \
  F(cuCtxFromGreenCtx)

struct Driver {
  explicit Driver(const SharedLibrary& library);
#define GPUSHARE_DECLARE(name) decltype(&::name) name;
  GPUSHARE_DRIVER_FUNCTIONS(GPUSHARE_DECLARE)
#undef GPUSHARE_DECLARE
};

/// The oldest driver that accepts code made by gpushare: CUDA 13.0, that is, release 580.
constexpr int oldest_driver_version = 13000;

/// The driver. The first call opens and initialises it; a call after one that failed tries again.
/// Throws CudaError: no driver, too old a driver, no GPU.
const Driver& driver();

/// The driver's version as CUDA counts it (13000 is 13.0), also where it is too old; 0 where there is none.
int driver_version();

/// Throws CudaError with the call's name and the driver's message, unless it succeeded.
void check(CUresult result, const char* call);

/// For destructors: a failure there has been reported by an earlier call, or does not matter any more.
#define GPUSHARE_CU_QUIETLY(call) static_cast<void>(::gpushare::cuda::driver().call)
#define GPUSHARE_CU(call) ::gpushare::cuda::check(::gpushare::cuda::driver().call, #call)

}  // namespace gpushare::cuda
