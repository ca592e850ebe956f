// SPDX-License-Identifier: Apache-2.0
// This process's allocations on the GPU, by address, because calls that free memory do not pass its size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpushare::intercept {

/// Addresses of memory and handles of cuMemCreate may be the same numbers.
enum class AllocationKind : std::uint64_t { Address = 0, Handle = 1 };

struct AllocationKey {
  std::uint64_t number = 0;
  AllocationKind kind = AllocationKind::Address;
};

/// Without host memory for the entry, the allocation stays counted for ever.
void remember_allocation(AllocationKey key, std::uint64_t bytes);
/// Its bytes; 0 where it is not known.
std::uint64_t forget_allocation(AllocationKey key);

}  // namespace gpushare::intercept
