// SPDX-License-Identifier: Apache-2.0
#include "core/transform/flow/divergent_blocks.hpp"

#include <numeric>

namespace gpushare::ptx {

DivergentBlocks::DivergentBlocks(const ControlFlow& flow, const Cycles* cycles)
    : flow_(flow), cycles_(cycles), behind_(flow.exit_block() + 1) {
  std::iota(behind_.begin(), behind_.end(), std::size_t{0});
}

/// The post-dominators of the blocks form a tree with the exit as its root. A choice makes divergent the blocks between
/// each of its successors and its meeting point (Ferrante, Ottenstein and Warren's control dependence). Blocks that are
/// divergent already are skipped, as in a union-find.
std::vector<std::size_t> DivergentBlocks::add_choice(std::size_t block) {
  std::vector<std::size_t> added;
  const BasicBlock& choice = flow_.blocks()[block];
  for (const std::size_t successor : choice.successors) {
    if (successor == flow_.exit_block() || !are_together(block, successor)) continue;
    if (flow_.blocks()[successor].meets_at == ControlFlow::never) {
      add_endless(successor, added);
      continue;
    }
    std::size_t next = first_outside(successor);
    // A meeting point outside the cycle does not lead back to it.
    while (next != flow_.exit_block() && flow_.blocks()[next].meetings >= choice.meetings &&
           are_together(block, next)) {
      added.push_back(next);
      behind_[next] = flow_.blocks()[next].meets_at;
      next = first_outside(next);
    }
  }
  return added;
}

/// The function cannot end from here: no path out of this block meets the others again.
void DivergentBlocks::add_endless(std::size_t block, std::vector<std::size_t>& added) {
  std::vector<std::size_t> open{block};
  while (!open.empty()) {
    const std::size_t next = open.back();
    open.pop_back();
    if (behind_[next] != next || !are_together(block, next)) continue;
    behind_[next] = flow_.exit_block();
    added.push_back(next);
    const auto& successors = flow_.blocks()[next].successors;
    open.insert(open.end(), successors.begin(), successors.end());
  }
}

bool DivergentBlocks::are_together(std::size_t block, std::size_t other) const {
  return cycles_ == nullptr || cycles_->of(block) == cycles_->of(other);
}

std::size_t DivergentBlocks::first_outside(std::size_t block) {
  while (behind_[block] != block) {
    behind_[block] = behind_[behind_[block]];
    block = behind_[block];
  }
  return block;
}

}  // namespace gpushare::ptx
