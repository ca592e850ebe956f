// SPDX-License-Identifier: Apache-2.0
// The functions of the real driver, which is libcuda-real.so.
#pragma once

#include "intercept/cuda_api.hpp"

// clang-format off
// The functions that this library replaces.
#define GPUSHARE_INTERCEPTED(F)                                                                                    \
  F(cuInit) F(cuGetProcAddress) F(cuGetProcAddress_v2)                                                             \
  F(cuLaunchKernel) F(cuLaunchKernel_ptsz) F(cuLaunchKernelEx) F(cuLaunchKernelEx_ptsz)                            \
  F(cuLaunchCooperativeKernel) F(cuLaunchCooperativeKernel_ptsz) F(cuGraphLaunch) F(cuGraphLaunch_ptsz)            \
  F(cuGraphInstantiate) F(cuGraphInstantiate_v2) F(cuGraphInstantiateWithFlags)                                    \
  F(cuGraphInstantiateWithParams) F(cuGraphInstantiateWithParams_ptsz)                                             \
  F(cuStreamBeginCapture) F(cuStreamBeginCapture_ptsz) F(cuStreamBeginCapture_v2) F(cuStreamBeginCapture_v2_ptsz)  \
  F(cuStreamBeginCaptureToGraph) F(cuStreamBeginCaptureToGraph_ptsz)                                               \
  F(cuStreamEndCapture) F(cuStreamEndCapture_ptsz)                                                                 \
  F(cuStreamSynchronize) F(cuStreamSynchronize_ptsz) F(cuStreamQuery) F(cuStreamQuery_ptsz)                        \
  F(cuCtxSynchronize) F(cuCtxSynchronize_v2)                                                                       \
  F(cuEventRecord) F(cuEventRecord_ptsz) F(cuEventRecordWithFlags) F(cuEventRecordWithFlags_ptsz)                  \
  F(cuEventQuery) F(cuEventSynchronize)                                                                            \
  F(cuLibraryGetKernel) F(cuLibraryEnumerateKernels) F(cuLibraryGetKernelCount)                                    \
  F(cuModuleLoad) F(cuModuleLoadData) F(cuModuleLoadDataEx) F(cuModuleLoadFatBinary) F(cuModuleUnload)             \
  F(cuModuleGetFunctionCount) F(cuModuleEnumerateFunctions)                                                        \
  F(cuLibraryLoadData) F(cuLibraryLoadFromFile) F(cuLibraryUnload)                                                 \
  F(cuCtxDestroy_v2) F(cuDevicePrimaryCtxReset_v2) F(cuDevicePrimaryCtxRelease_v2)                                 \
  F(cuMemAlloc_v2) F(cuMemAllocPitch_v2) F(cuMemAllocManaged) F(cuMemFree_v2)                                      \
  F(cuMemAllocAsync) F(cuMemAllocAsync_ptsz) F(cuMemAllocFromPoolAsync) F(cuMemAllocFromPoolAsync_ptsz)            \
  F(cuMemFreeAsync) F(cuMemFreeAsync_ptsz) F(cuMemCreate) F(cuMemRelease) F(cuMemGetInfo_v2) F(cuDeviceTotalMem_v2) \
  F(cuMemcpyHtoD_v2) F(cuMemcpyHtoD_v2_ptds) F(cuMemcpyHtoDAsync_v2) F(cuMemcpyHtoDAsync_v2_ptsz)                  \
  F(cuMemcpyDtoH_v2) F(cuMemcpyDtoH_v2_ptds) F(cuMemcpyDtoHAsync_v2) F(cuMemcpyDtoHAsync_v2_ptsz)                  \
  F(cuMemcpy) F(cuMemcpy_ptds) F(cuMemcpyAsync) F(cuMemcpyAsync_ptsz) F(cuStreamDestroy_v2)

// Further functions that it calls.
#define GPUSHARE_CALLED(F)                                                                                         \
  F(cuThreadExchangeStreamCaptureMode) F(cuStreamIsCapturing) F(cuStreamGetCtx) F(cuStreamWriteValue64_v2)         \
  F(cuStreamWaitValue64_v2) F(cuPointerGetAttribute)                                                               \
  F(cuMemHostRegister_v2) F(cuMemHostGetDevicePointer_v2) F(cuCtxGetCurrent) F(cuDevicePrimaryCtxGetState)         \
  F(cuEventCreate) F(cuEventElapsedTime) F(cuEventElapsedTime_v2)                 \
  F(cuFuncGetName) F(cuKernelGetName) F(cuGraphGetNodes) F(cuFuncGetModule) F(cuModuleGetFunction)                 \
  F(cuGraphNodeGetType) F(cuGraphKernelNodeGetParams_v2) F(cuGraphChildGraphNodeGetGraph)                          \
  F(cuKernelGetFunction) F(cuLibraryGetModule) F(cuFuncGetAttribute) F(cuFuncSetAttribute)                         \
  F(cuOccupancyMaxActiveBlocksPerMultiprocessor) F(cuCtxGetDevice) F(cuDeviceGetAttribute) F(cuDeviceGetCount)     \
  F(cuKernelGetLibrary)                                                                                            \
  F(cuMemsetD8Async) F(cuStreamWriteValue32_v2) F(cuStreamBatchMemOp_v2)
// clang-format on

namespace gpushare::intercept {

/// A function that the driver does not have is nullptr.
struct Driver {
#define GPUSHARE_POINTER(name) decltype(&::name) name = nullptr;
  GPUSHARE_INTERCEPTED(GPUSHARE_POINTER)
  GPUSHARE_CALLED(GPUSHARE_POINTER)
#undef GPUSHARE_POINTER
};

/// Found when this library is loaded, before anything can call it.
extern const Driver real;

template <class... Parameters>
CUresult call(CUresult (*function)(Parameters...), Parameters... arguments) {
  return function != nullptr ? function(arguments...) : CUDA_ERROR_NOT_SUPPORTED;
}

/// For this library's calls, which a capture in some thread would otherwise forbid, and be invalidated by.
class AllowedWhileCapturing {
 public:
  AllowedWhileCapturing() { call(real.cuThreadExchangeStreamCaptureMode, &mode_); }
  ~AllowedWhileCapturing() { call(real.cuThreadExchangeStreamCaptureMode, &mode_); }
  AllowedWhileCapturing(const AllowedWhileCapturing&) = delete;
  AllowedWhileCapturing& operator=(const AllowedWhileCapturing&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace gpushare::intercept
