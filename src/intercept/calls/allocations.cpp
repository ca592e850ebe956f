// SPDX-License-Identifier: Apache-2.0
#include "intercept/calls/allocations.hpp"

#include <cstdlib>
#include <mutex>

#include "intercept/forks.hpp"
#include "intercept/waiting.hpp"

namespace gpushare::intercept {
namespace {

struct Allocation {
  std::uint64_t key = 0;  ///< 0: none
  std::uint64_t bytes = 0;
};

/// Addresses are even, and no address and no handle is as large as 2^63.
std::uint64_t packed(AllocationKey key) { return key.number << 1 | static_cast<std::uint64_t>(key.kind); }

/// Open addressing without tombstones: what follows a removed entry moves up.
class AllocationTable {
 public:
  void add(Allocation allocation) {
    if (2 * (count_ + 1) > size_ && !grow()) return;
    put(allocation);
    ++count_;
  }

  std::uint64_t remove(std::uint64_t key) {
    if (size_ == 0) return 0;
    std::size_t at = place(key);
    while (entries_[at].key != key) {
      if (entries_[at].key == 0) return 0;
      at = next(at);
    }
    const std::uint64_t bytes = entries_[at].bytes;
    close_gap(at);
    --count_;
    return bytes;
  }

  void clear() { *this = {}; }

 private:
  std::size_t place(std::uint64_t key) const { return (key * 0x9e3779b97f4a7c15 >> 32) & (size_ - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (size_ - 1); }

  void put(Allocation allocation) {
    std::size_t at = place(allocation.key);
    while (entries_[at].key != 0) at = next(at);
    entries_[at] = allocation;
  }

  void close_gap(std::size_t gap) {
    for (std::size_t at = next(gap); entries_[at].key != 0; at = next(at)) {
      const std::size_t distance_to_gap = (at - gap) & (size_ - 1);
      const std::size_t distance_to_place = (at - place(entries_[at].key)) & (size_ - 1);
      if (distance_to_place < distance_to_gap) continue;
      entries_[gap] = entries_[at];
      gap = at;
    }
    entries_[gap] = {};
  }

  bool grow() {
    const std::size_t larger = size_ != 0 ? 2 * size_ : 1024;
    auto* made = static_cast<Allocation*>(std::calloc(larger, sizeof(Allocation)));
    if (made == nullptr) return false;
    Allocation* const before = entries_;
    const std::size_t size_before = size_;
    entries_ = made;
    size_ = larger;
    for (std::size_t index = 0; index < size_before; ++index) {
      if (before[index].key != 0) put(before[index]);
    }
    std::free(before);
    return true;
  }

  Allocation* entries_ = nullptr;
  std::size_t size_ = 0;  ///< a power of two
  std::size_t count_ = 0;
};

AllocationTable allocations;
Lock allocations_lock;

}  // namespace

void remember_allocation(AllocationKey key, std::uint64_t bytes) {
  const std::lock_guard lock(allocations_lock);
  allocations.add({packed(key), bytes});
}

std::uint64_t forget_allocation(AllocationKey key) {
  const std::lock_guard lock(allocations_lock);
  return allocations.remove(packed(key));
}

/// The table is left as it is: a thread of the parent may have been changing it.
void forget_allocations() {
  allocations_lock.unlock();
  allocations.clear();
}

}  // namespace gpushare::intercept
