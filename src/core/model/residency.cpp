// SPDX-License-Identifier: Apache-2.0
#include "core/model/residency.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace gpushare {
namespace {

constexpr int unlimited = std::numeric_limits<int>::max();

template <typename Integer>
Integer round_up(Integer value, Integer unit) {
  return (value + unit - 1) / unit * unit;
}

template <typename Integer>
int how_many(Integer room, Integer need) {
  return need == 0 ? unlimited : static_cast<int>(room / need);
}

int registers_per_warp(const AllocationGranularity& granularity, const BlockNeeds& needs) {
  return round_up(needs.registers_per_thread * granularity.threads_per_warp, granularity.registers_per_warp);
}

}  // namespace

BlockFootprint footprint(const Device& device, const BlockNeeds& needs) {
  const AllocationGranularity& granularity = device.granularity;
  const int warps = (needs.threads + granularity.threads_per_warp - 1) / granularity.threads_per_warp;
  return {
      .threads = needs.threads,
      .warps = warps,
      .registers = warps * registers_per_warp(granularity, needs),
      .shared_memory_bytes = round_up(needs.shared_memory.count + granularity.reserved_shared_memory.count,
                                      granularity.shared_memory.count),
  };
}

int ResidencyLimits::smallest() const { return std::min({by_blocks, by_threads, by_registers, by_shared_memory}); }

std::string ResidencyLimits::tightest() const {
  const std::array limits{std::pair{by_threads, "threads"}, std::pair{by_registers, "registers"},
                          std::pair{by_shared_memory, "shared memory"}, std::pair{by_blocks, "block slots"}};
  return std::ranges::min_element(limits, {}, [](const auto& limit) { return limit.first; })->second;
}

ResidencyLimits residency_limits(const Device& device, const BlockNeeds& needs) {
  const BlockFootprint block = footprint(device, needs);
  const SmCapacity& sm = device.per_sm;
  const int granularity = device.granularity.warps;
  const int warp_registers = registers_per_warp(device.granularity, needs);
  // The register file is banked: warps fit in multiples of the allocation granularity.
  const int warps_by_registers =
      warp_registers == 0 ? unlimited : sm.registers / warp_registers / granularity * granularity;
  return {
      .by_blocks = sm.blocks,
      .by_threads = std::min(how_many(sm.threads, block.threads), how_many(sm.warps, block.warps)),
      .by_registers = warp_registers == 0 ? unlimited : how_many(warps_by_registers, block.warps),
      .by_shared_memory = how_many(sm.shared_memory.count, block.shared_memory_bytes),
  };
}

int max_residency(const Device& device, const BlockNeeds& needs) { return residency_limits(device, needs).smallest(); }

Bytes shared_memory_split(const Device& device, const BlockNeeds& needs) {
  const std::int64_t needed = max_residency(device, needs) * footprint(device, needs).shared_memory_bytes;
  for (const Bytes split : device.per_sm.shared_memory_splits) {
    if (split.count >= needed) return split;
  }
  return {};
}

int residency_beside(const Device& device, const BlockNeeds& needs, const BlockNeeds& others, int other_blocks) {
  SmRoom room(device.per_sm);
  for (int block = 0; block < other_blocks; ++block) room.take(footprint(device, others));
  return room.count(footprint(device, needs));
}

SmRoom::SmRoom(const SmCapacity& capacity)
    : blocks_(capacity.blocks),
      warps_(capacity.warps),
      threads_(capacity.threads),
      registers_(capacity.registers),
      shared_memory_bytes_(capacity.shared_memory.count) {}

void SmRoom::take(const BlockFootprint& block, int blocks) {
  blocks_ -= blocks;
  warps_ -= blocks * block.warps;
  threads_ -= blocks * block.threads;
  registers_ -= blocks * block.registers;
  shared_memory_bytes_ -= blocks * block.shared_memory_bytes;
}

int SmRoom::count(const BlockFootprint& block) const {
  return std::min({blocks_, how_many(warps_, block.warps), how_many(threads_, block.threads),
                   how_many(registers_, block.registers), how_many(shared_memory_bytes_, block.shared_memory_bytes)});
}

}  // namespace gpushare
