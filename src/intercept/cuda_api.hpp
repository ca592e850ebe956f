// SPDX-License-Identifier: Apache-2.0
// cuda.h as the driver itself sees it: each name is the function of that name, with all versions and those for
// per-thread default streams. What it declares is exported where it is defined; exported.map narrows that down.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
extern "C" CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext context);  // of CUDA 13; older headers do not have it
#pragma GCC visibility pop
