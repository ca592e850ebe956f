// SPDX-License-Identifier: Apache-2.0
#include "cuda/registered_memory.hpp"

#include <future>

#include "cuda/driver.hpp"

namespace gpushare::cuda {
namespace {

/// 64 MiB take 41 ms on an H100, beside kernels that leave some room on an SM as well as alone.
Duration usual_time_to_pin(std::size_t bytes) { return Duration(20'000'000 + static_cast<std::int64_t>(bytes)); }

}  // namespace

void unregister_memory(void* address) { GPUSHARE_CU_QUIETLY(cuMemHostUnregister(address)); }

// Launches need not stand still for all of that time: only where it takes longer, because there is no such room.
RegisteredMemory register_memory(const SharedContext& context, std::span<std::byte> memory) {
  std::future<void> pinned = std::async(std::launch::async, [&context, memory] {
    const CurrentContext current(*context);
    GPUSHARE_CU(cuMemHostRegister(memory.data(), memory.size(), CU_MEMHOSTREGISTER_PORTABLE));
  });
  if (pinned.wait_for(usual_time_to_pin(memory.size())) == std::future_status::timeout) {
    const Quiet quiet = context->quiet_moments().ask();
    pinned.wait();
  }
  pinned.get();
  return {context, memory.data()};
}

}  // namespace gpushare::cuda
