// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory/registered_memory.hpp"

#include <sys/mman.h>

#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {

void unregister_memory(void* address) { GPUSHARE_CU_QUIETLY(cuMemHostUnregister(address)); }

// 64 MiB of untouched memory take 41 ms on an H100, during which launches stop: so the pages are made first, as far as
// the system can. Pinning while launches run would not do: where it has to wait, it holds the driver's lock, so that no
// launch could be evicted.
RegisteredMemory register_memory(const SharedContext& context, std::span<std::byte> memory) {
#ifdef MADV_POPULATE_WRITE
  madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE);
#endif
  const Drain drain = context->drain_requests().ask();
  const CurrentContext current(*context);
  GPUSHARE_CU(cuMemHostRegister(memory.data(), memory.size(), CU_MEMHOSTREGISTER_PORTABLE));
  return {context, memory.data()};
}

}  // namespace gpushare::cuda
