// SPDX-License-Identifier: Apache-2.0
// cuda.h as the driver itself sees it: each name is the function of that name, with all versions and those for
// per-thread default streams. What it declares is exported where it is defined; exported.map narrows that down.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop
