// SPDX-License-Identifier: Apache-2.0
// An image of code with workers beside its kernels. The library in the driver's place opens this as a library of its
// own where a program asks for workers, as it can throw, and uses no C++ types of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/transform/flow/thread_group.hpp"

namespace gpushare::images {

/// A kernel that has a worker.
struct WorkerKernel {
  const char* name;
  const std::uint32_t* parameter_offsets;  ///< of the kernel's own parameters in a buffer
  std::uint32_t parameters;                ///< the number of these
  std::uint32_t parameter_bytes;           ///< of all of them
  ptx::BlockShapes blocks;                 ///< that the worker is right for
};

/// Owned by the library that has made it.
struct WorkerImage {
  const char* text;  ///< PTX that ends with a zero; nullptr: no kernel has a worker
  const WorkerKernel* kernels;
  std::size_t kernel_count;
  const char* const* reasons;  ///< why kernels have none, or the image
  std::size_t reason_count;
};

using MakeWorkers = const WorkerImage* (*)(const void* image, int capability);
using DropWorkers = void (*)(const WorkerImage* made);

}  // namespace gpushare::images

extern "C" {
/// `image`: as the driver is given it; `capability`: 90 for 9.0. nullptr without memory.
[[gnu::visibility("default")]] const gpushare::images::WorkerImage* gpushare_make_workers(const void* image,
                                                                                          int capability) noexcept;
[[gnu::visibility("default")]] void gpushare_drop_workers(const gpushare::images::WorkerImage* made) noexcept;
}
