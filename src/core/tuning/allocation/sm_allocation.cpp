// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/sm_allocation.hpp"

#include <algorithm>

#include "core/model/residency.hpp"
#include "core/partitioning/sm_partition.hpp"

namespace gpushare {
namespace {

int kernels_on(const SmGroup& group) {
  return static_cast<int>(std::ranges::count_if(group.blocks, [](int blocks) { return blocks > 0; }));
}

/// The n-th part of the maximum residency of each kernel.
std::vector<int> proportional_blocks(std::span<const Contender> contenders) {
  std::vector<int> blocks;
  const auto parts = static_cast<int>(contenders.size());
  for (const Contender& each : contenders) blocks.push_back(std::max(1, each.max_residency / parts));
  return blocks;
}

}  // namespace

SmAllocation equal_partition(const Device& device, std::span<const Contender> contenders) {
  const std::vector<int> sms = even_parts(contenders.size(), device.sms);
  SmAllocation allocation;
  for (std::size_t part = 0; part < sms.size(); ++part) {
    std::vector<int> blocks(contenders.size(), 0);
    blocks[part] = contenders[part].max_residency;
    allocation.push_back({.sms = sms[part], .blocks = std::move(blocks)});
  }
  return allocation;
}

bool same_allocation(const SmAllocation& one, const SmAllocation& other) {
  return std::ranges::equal(one, other, [](const SmGroup& left, const SmGroup& right) {
    return left.sms == right.sms && left.blocks == right.blocks;
  });
}

bool can_share_an_sm(const Device& device, std::span<const Contender> contenders, std::span<const int> blocks) {
  SmRoom room(device.per_sm);
  int present = 0;
  int at_maximum = 0;
  Bytes split;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (blocks[i] == 0) continue;
    const BlockFootprint block = footprint(device, contenders[i].kernel->needs);
    if (blocks[i] > contenders[i].max_residency || room.count(block) < blocks[i]) return false;
    for (int taken = 0; taken < blocks[i]; ++taken) room.take(block);
    const Bytes wanted_split = shared_memory_split(device, contenders[i].kernel->needs);
    if (present > 0 && wanted_split != split) return false;
    split = wanted_split;
    ++present;
    at_maximum += blocks[i] == contenders[i].max_residency;
  }
  return at_maximum <= 1 || present == 1;
}

void fill(const Device& device, std::span<const Contender> contenders, std::vector<int>& blocks) {
  for (bool grown = true; grown;) {
    grown = false;
    std::vector<std::size_t> order(blocks.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(
        order, {}, [&](std::size_t i) { return static_cast<double>(blocks[i]) / contenders[i].max_residency; });
    for (const std::size_t i : order) {
      ++blocks[i];
      grown = can_share_an_sm(device, contenders, blocks);
      if (grown) break;
      --blocks[i];
    }
  }
}

bool may_share_sms(const Device& device, std::span<const Contender> contenders) {
  return can_share_an_sm(device, contenders, proportional_blocks(contenders));
}

SmAllocation serial_allocation(const Device& device, std::span<const Contender> contenders) {
  std::vector<int> blocks;
  for (const Contender& each : contenders) blocks.push_back(each.max_residency);
  return {{.sms = device.sms, .blocks = std::move(blocks)}};
}

bool is_serial(const SmAllocation& allocation, std::span<const Contender> contenders) {
  return contenders.size() > 1 && allocation.size() == 1 &&
         std::ranges::equal(allocation.front().blocks, contenders, {}, {}, &Contender::max_residency);
}

SmAllocation proportional_allocation(const Device& device, std::span<const Contender> contenders) {
  std::vector<int> blocks = proportional_blocks(contenders);
  if (can_share_an_sm(device, contenders, blocks)) {
    fill(device, contenders, blocks);
    return {{.sms = device.sms, .blocks = std::move(blocks)}};
  }
  return static_cast<int>(contenders.size()) <= device.sms ? equal_partition(device, contenders) : SmAllocation{};
}

Quota quota_in(const SmAllocation& allocation, std::size_t kernel) {
  if (allocation.size() == 1) return Quota::everywhere(allocation.front().blocks[kernel]);
  std::vector<int> per_sm;
  for (const SmGroup& group : allocation) {
    per_sm.insert(per_sm.end(), static_cast<std::size_t>(group.sms), group.blocks[kernel]);
  }
  return Quota::per_sm(std::move(per_sm));
}

int blocks_in(const SmAllocation& allocation, std::size_t kernel) {
  int blocks = 0;
  for (const SmGroup& group : allocation) blocks += group.sms * group.blocks[kernel];
  return blocks;
}

bool fills_shared_sms(const SmAllocation& allocation, std::size_t kernel, int max_residency) {
  return std::ranges::any_of(allocation, [&](const SmGroup& group) {
    return group.sms > 0 && group.blocks[kernel] == max_residency && kernels_on(group) > 1;
  });
}

}  // namespace gpushare
