// SPDX-License-Identifier: Apache-2.0
// Green contexts: the stand-in cannot cut out parts of itself.
#include "stand_in_gpu/cuda_header.hpp"

extern "C" {

CUresult cuDeviceGetDevResource(CUdevice, CUdevResource*, CUdevResourceType) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult cuDevSmResourceSplitByCount(CUdevResource*, unsigned*, const CUdevResource*, CUdevResource*, unsigned,
                                     unsigned) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc*, CUdevResource*, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult cuGreenCtxCreate(CUgreenCtx*, CUdevResourceDesc, CUdevice, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult cuGreenCtxDestroy(CUgreenCtx) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult cuGreenCtxStreamCreate(CUstream*, CUgreenCtx, unsigned, int) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult cuCtxFromGreenCtx(CUcontext*, CUgreenCtx) { return CUDA_ERROR_NOT_SUPPORTED; }

}  // extern "C"
