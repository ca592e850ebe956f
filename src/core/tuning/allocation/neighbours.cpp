// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/neighbours.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "core/tuning/tuning.hpp"

namespace gpushare {
namespace {

int part_of(int whole, double step_size) { return std::max(1, static_cast<int>(whole * step_size)); }

class VectorNeighbours {
 public:
  VectorNeighbours(const Device& device, std::span<const Contender> contenders, const std::vector<int>& blocks,
                   double step_size)
      : device_(device), contenders_(contenders), from_(blocks), step_size_(step_size) {}

  std::vector<SmAllocation> all() {
    for (std::size_t i = 0; i < from_.size(); ++i) {
      for (std::size_t j = 0; j < from_.size(); ++j) {
        if (j != i) exchange(i, j);
      }
    }
    if (step_size_ <= Tuning::smallest_step) change_one();
    return std::move(found_);
  }

 private:
  void change_one() {
    for (std::size_t i = 0; i < from_.size(); ++i) {
      for (const int change : {-1, 1}) {
        std::vector<int> blocks = from_;
        blocks[i] += change;
        add(blocks);
      }
    }
  }

  void exchange(std::size_t from, std::size_t to) {
    std::vector<int> blocks = from_;
    blocks[from] -= part_of(contenders_[from].max_residency, step_size_);
    do ++blocks[to];
    while (can_share_an_sm(device_, contenders_, blocks));
    --blocks[to];
    add(blocks);
  }

  void add(const std::vector<int>& blocks) {
    if (std::ranges::min(blocks) < 1 || !can_share_an_sm(device_, contenders_, blocks)) return;
    const bool is_new =
        std::ranges::none_of(found_, [&](const SmAllocation& known) { return known.front().blocks == blocks; });
    if (is_new && blocks != from_) found_.push_back({{.sms = device_.sms, .blocks = blocks}});
  }

  const Device& device_;
  std::span<const Contender> contenders_;
  const std::vector<int>& from_;
  double step_size_;
  std::vector<SmAllocation> found_;
};

/// All kernels on all SMs, each with as many blocks in sum as it has now; nullopt where they cannot share an SM.
std::optional<SmAllocation> shared_likewise(const Device& device, std::span<const Contender> contenders,
                                            const SmAllocation& allocation) {
  std::vector<int> blocks;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    blocks.push_back(std::max(1, blocks_in(allocation, i) / device.sms));
  }
  if (!can_share_an_sm(device, contenders, blocks)) return std::nullopt;
  fill(device, contenders, blocks);
  return SmAllocation{{.sms = device.sms, .blocks = std::move(blocks)}};
}

std::vector<SmAllocation> side_by_side(const Device& device, std::span<const Contender> contenders) {
  std::vector<SmAllocation> found{equal_partition(device, contenders)};
  if (may_share_sms(device, contenders)) found.push_back(proportional_allocation(device, contenders));
  return found;
}

}  // namespace

std::vector<SmAllocation> neighbours_of(const Device& device, std::span<const Contender> contenders,
                                        const SmAllocation& allocation, double step_size) {
  if (is_serial(allocation, contenders)) return side_by_side(device, contenders);
  if (allocation.size() == 1) {
    return VectorNeighbours(device, contenders, allocation.front().blocks, step_size).all();
  }
  std::vector<SmAllocation> found;
  if (const auto shared = shared_likewise(device, contenders, allocation)) {
    found.push_back(*shared);
    if (step_size >= Tuning::largest_step) {
      std::ranges::move(VectorNeighbours(device, contenders, shared->front().blocks, step_size).all(),
                        std::back_inserter(found));
    }
  }
  const int moved = part_of(device.sms, step_size);
  for (std::size_t giver = 0; giver < allocation.size(); ++giver) {
    if (allocation[giver].sms <= moved) continue;
    for (std::size_t taker = 0; taker < allocation.size(); ++taker) {
      if (taker == giver) continue;
      found.push_back(allocation);
      found.back()[giver].sms -= moved;
      found.back()[taker].sms += moved;
    }
  }
  return found;
}

}  // namespace gpushare
