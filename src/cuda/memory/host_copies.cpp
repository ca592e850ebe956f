// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory/host_copies.hpp"

#include <algorithm>

#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {

void copy_to_device(const Context& context, CUdeviceptr target, const void* source, std::size_t bytes) {
  const CurrentContext current(context);
  GPUSHARE_CU(cuMemcpyHtoDAsync(target, source, bytes, CU_STREAM_PER_THREAD));
  GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

// Not all pieces at once: the driver blocks its other callers while its queue is full.
void clear(const Context& context, CUdeviceptr target, std::size_t bytes) {
  constexpr std::size_t pieces_at_a_time = 16;
  const CurrentContext current(context);
  const std::span<const std::byte> zeros = context.zeros();
  GPUSHARE_EXPECT(!zeros.empty(), "a process that only maps memory makes none");
  const std::size_t bytes_at_a_time = pieces_at_a_time * zeros.size();
  for (std::size_t offset = 0; offset < bytes; offset += zeros.size()) {
    if (offset > 0 && offset % bytes_at_a_time == 0) GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    const std::size_t piece = std::min(zeros.size(), bytes - offset);
    GPUSHARE_CU(cuMemcpyHtoDAsync(target + offset, zeros.data(), piece, CU_STREAM_PER_THREAD));
  }
  GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

void copy_to_host(const Context& context, void* target, CUdeviceptr source, std::size_t bytes) {
  const CurrentContext current(context);
  GPUSHARE_CU(cuMemcpyDtoHAsync(target, source, bytes, CU_STREAM_PER_THREAD));
  GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

}  // namespace gpushare::cuda
