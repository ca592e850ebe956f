// SPDX-License-Identifier: Apache-2.0
// Host memory of other owners, pinned in place: the GPU copies from and to it directly. Pinning takes about as long as
// touching every page, so it pays for memory that is used repeatedly.
#pragma once

#include <span>

#include "cuda/driver/handles.hpp"

namespace gpushare::cuda {

void unregister_memory(void* address);

/// The memory must stay mapped for as long as this is there, and may go right after it: it is never unpinned later.
using RegisteredMemory = Owned<void*, unregister_memory, Freeing::InQuietMoment>;

/// During a drain: where no SM has room for a block, the driver waits for one that has. Throws CudaError if it cannot
/// be pinned.
RegisteredMemory register_memory(const SharedContext& context, std::span<std::byte> memory);

}  // namespace gpushare::cuda
