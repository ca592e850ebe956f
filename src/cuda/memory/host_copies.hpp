// SPDX-License-Identifier: Apache-2.0
// Copies between host and device that return when they have ended. Each uses a separate stream, so that it waits for no
// kernel. From and to pinned or registered memory it is one DMA; else the driver copies through its pinned memory.
//
// Memory is cleared by such copies, too. A memset is a kernel: on an H100 (driver 580), at any priority of its stream,
// it never ran while a launch that did not end had every place of every SM, so that no application got memory any more.
// Copies are slower: 55 GB/s there, so that 256 MB take 5 ms, where a memset takes 0.1 ms.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "cuda/driver/context.hpp"

namespace gpushare::cuda {

void copy_to_device(const Context& context, CUdeviceptr target, const void* source, std::size_t bytes);
/// Copies zeros there.
void clear(const Context& context, CUdeviceptr target, std::size_t bytes);
void copy_to_host(const Context& context, void* target, CUdeviceptr source, std::size_t bytes);

}  // namespace gpushare::cuda
