// SPDX-License-Identifier: Apache-2.0
// Host memory of others, pinned where it is: the GPU copies from and to it without a detour. Pinning takes about as
// long as touching every page, so it pays for what is used again and again.
#pragma once

#include <span>

#include "cuda/handles.hpp"

namespace gpushare::cuda {

void unregister_memory(void* address);

/// The memory must stay mapped for as long as this is there, and may go right after it: it is never unpinned later.
using RegisteredMemory = Owned<void*, unregister_memory, Freeing::InQuietMoment>;

/// In a quiet moment: where no SM has room for a block, the driver waits for one that has. Throws CudaError if it
/// cannot be pinned.
RegisteredMemory register_memory(const SharedContext& context, std::span<std::byte> memory);

}  // namespace gpushare::cuda
