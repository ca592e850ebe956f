// SPDX-License-Identifier: Apache-2.0
#include "cuda/host_copies.hpp"

#include "cuda/driver.hpp"

namespace gpushare::cuda {

void copy_to_device(const Context& context, CUdeviceptr target, const void* source, std::size_t bytes) {
  const CurrentContext current(context);
  GPUSHARE_CU(cuMemcpyHtoDAsync(target, source, bytes, CU_STREAM_PER_THREAD));
  GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

void copy_to_host(const Context& context, void* target, CUdeviceptr source, std::size_t bytes) {
  const CurrentContext current(context);
  GPUSHARE_CU(cuMemcpyDtoHAsync(target, source, bytes, CU_STREAM_PER_THREAD));
  GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

}  // namespace gpushare::cuda
