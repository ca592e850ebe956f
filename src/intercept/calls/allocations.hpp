// SPDX-License-Identifier: Apache-2.0
// What this process has allocated on the GPU, by address: freeing does not say how much.
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

/// Where there is no memory for it, the allocation stays counted for good.
void remember_allocation(AllocationKey key, std::uint64_t bytes);
/// Its bytes; 0 where it is not known.
std::uint64_t forget_allocation(AllocationKey key);

}  // namespace gpushare::intercept
