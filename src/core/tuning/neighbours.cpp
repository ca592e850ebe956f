// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/neighbours.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace gpushare {
namespace {

int part_of(int whole, double reach) { return std::max(1, static_cast<int>(whole * reach)); }

class VectorNeighbours {
 public:
  VectorNeighbours(const Device& device, std::span<const Contender> contenders, const std::vector<int>& blocks,
                   double reach)
      : device_(device), contenders_(contenders), from_(blocks), reach_(reach) {}

  std::vector<Division> all() {
    for (std::size_t i = 0; i < from_.size(); ++i) {
      for (std::size_t j = 0; j < from_.size(); ++j) {
        if (j != i) exchange(i, j);
      }
    }
    if (reach_ <= nearest_reach) change_one();
    return std::move(found_);
  }

 private:
  void change_one() {
    for (std::size_t i = 0; i < from_.size(); ++i) {
      for (const int step : {-1, 1}) {
        std::vector<int> blocks = from_;
        blocks[i] += step;
        add(blocks);
      }
    }
  }

  void exchange(std::size_t from, std::size_t to) {
    std::vector<int> blocks = from_;
    blocks[from] -= part_of(contenders_[from].max_residency, reach_);
    do ++blocks[to];
    while (can_share_an_sm(device_, contenders_, blocks));
    --blocks[to];
    add(blocks);
  }

  void add(const std::vector<int>& blocks) {
    if (std::ranges::min(blocks) < 1 || !can_share_an_sm(device_, contenders_, blocks)) return;
    const bool is_new =
        std::ranges::none_of(found_, [&](const Division& known) { return known.front().blocks == blocks; });
    if (is_new && blocks != from_) found_.push_back({{.sms = device_.sms, .blocks = blocks}});
  }

  const Device& device_;
  std::span<const Contender> contenders_;
  const std::vector<int>& from_;
  double reach_;
  std::vector<Division> found_;
};

/// As many places for each as they have on SMs of their own, but on all SMs; nullopt where they cannot share one.
std::optional<Division> shared_likewise(const Device& device, std::span<const Contender> contenders,
                                        const Division& division) {
  std::vector<int> blocks;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    blocks.push_back(std::max(1, blocks_in(division, i) / device.sms));
  }
  if (!can_share_an_sm(device, contenders, blocks)) return std::nullopt;
  fill(device, contenders, blocks);
  return Division{{.sms = device.sms, .blocks = std::move(blocks)}};
}

std::vector<Division> side_by_side(const Device& device, std::span<const Contender> contenders) {
  std::vector<Division> found{equal_parts(device, contenders)};
  if (may_share_sms(device, contenders)) found.push_back(proportional_division(device, contenders));
  return found;
}

}  // namespace

std::vector<Division> neighbours_of(const Device& device, std::span<const Contender> contenders,
                                    const Division& division, double reach) {
  if (takes_turns(division, contenders)) return side_by_side(device, contenders);
  if (division.size() == 1) return VectorNeighbours(device, contenders, division.front().blocks, reach).all();
  std::vector<Division> found;
  if (const auto shared = shared_likewise(device, contenders, division)) {
    found.push_back(*shared);
    if (reach >= farthest_reach) {
      std::ranges::move(VectorNeighbours(device, contenders, shared->front().blocks, reach).all(),
                        std::back_inserter(found));
    }
  }
  const int step = part_of(device.sms, reach);
  for (std::size_t giver = 0; giver < division.size(); ++giver) {
    if (division[giver].sms <= step) continue;
    for (std::size_t taker = 0; taker < division.size(); ++taker) {
      if (taker == giver) continue;
      found.push_back(division);
      found.back()[giver].sms -= step;
      found.back()[taker].sms += step;
    }
  }
  return found;
}

}  // namespace gpushare
