// SPDX-License-Identifier: Apache-2.0
// A driver whose functions do nothing, but for what they must say: what a library in front of it costs is then all
// that is measured. Kernels take no time, and marks are there at once.
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include <chrono>

extern "C" {

/// A benchmark sets it: what a library leaves to the processor to do meanwhile is then hidden, as it is by a driver.
[[gnu::visibility("default")]] int idle_driver_launch_ns = 0;

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                        void**, void**) {
  if (idle_driver_launch_ns == 0) return CUDA_SUCCESS;
  const auto ends = std::chrono::steady_clock::now() + std::chrono::nanoseconds(idle_driver_launch_ns);
  while (std::chrono::steady_clock::now() < ends) {
  }
  return CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction) {
  *name = "kernel";
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) { return CUDA_SUCCESS; }
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuStreamWriteValue64_v2(CUstream, CUdeviceptr to, cuuint64_t value, unsigned) {
  *reinterpret_cast<volatile cuuint64_t*>(to) = value;
  return CUDA_SUCCESS;
}
CUresult cuMemHostRegister_v2(void*, size_t, unsigned) { return CUDA_SUCCESS; }
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* on_device, void* address, unsigned) {
  *on_device = reinterpret_cast<CUdeviceptr>(address);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(4096);
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream, CUcontext* context) { return cuCtxGetCurrent(context); }
CUresult cuEventCreate(CUevent*, unsigned) { return CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
CUresult cuEventQuery(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent, CUevent) {
  *milliseconds = 0.01f;
  return CUDA_SUCCESS;
}

}  // extern "C"
