// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/neighbours.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// A sixteenth of the SMs: less can hardly be measured.
int step_of(const Device& device) { return std::max(1, device.sms / 16); }

class VectorNeighbours {
 public:
  VectorNeighbours(const Device& device, std::span<const Contender> contenders, const std::vector<int>& blocks)
      : device_(device), contenders_(contenders), from_(blocks) {}

  std::vector<Division> all() {
    for (std::size_t i = 0; i < from_.size(); ++i) {
      for (std::size_t j = 0; j < from_.size(); ++j) {
        if (j != i) exchange(i, j);
      }
    }
    for (std::size_t i = 0; i < from_.size(); ++i) {
      for (const int step : {-1, 1}) {
        std::vector<int> blocks = from_;
        blocks[i] += step;
        add(blocks);
      }
    }
    return std::move(found_);
  }

 private:
  void exchange(std::size_t from, std::size_t to) {
    std::vector<int> blocks = from_;
    --blocks[from];
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
  std::vector<Division> found_;
};

}  // namespace

std::vector<Division> neighbours_of(const Device& device, std::span<const Contender> contenders,
                                    const Division& division) {
  if (division.size() == 1) return VectorNeighbours(device, contenders, division.front().blocks).all();
  std::vector<Division> found;
  const int step = step_of(device);
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
