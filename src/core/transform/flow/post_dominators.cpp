// SPDX-License-Identifier: Apache-2.0
#include "core/transform/flow/post_dominators.hpp"

#include <algorithm>
#include <utility>

namespace gpushare::ptx {
namespace {

/// Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph", in its simple form, on the reversed
/// graph. Nodes are numbered in the order in which a depth-first walk from the exit meets them; the exit is 0. Unlike
/// simpler methods it stays fast on deeply nested loops.
class DominatorFinder {
 public:
  explicit DominatorFinder(const std::vector<BasicBlock>& blocks) : blocks_(blocks) {
    walk();
    semi_.resize(block_of_.size());
    for (std::size_t node = 0; node < semi_.size(); ++node) semi_[node] = node;
    best_ = semi_;
    ancestor_.assign(semi_.size(), none);
    dominator_.assign(semi_.size(), 0);
  }

  PostDominators find() {
    std::vector<std::vector<std::size_t>> bucket(semi_.size());
    for (std::size_t node = semi_.size() - 1; node > 0; --node) {
      for (const std::size_t successor : blocks_[block_of_[node]].successors) {
        if (number_[successor] != none) semi_[node] = std::min(semi_[node], semi_[best_to(number_[successor])]);
      }
      bucket[semi_[node]].push_back(node);
      ancestor_[node] = parent_[node];
      for (const std::size_t waiting : bucket[parent_[node]]) {
        const std::size_t best = best_to(waiting);
        dominator_[waiting] = semi_[best] < semi_[waiting] ? best : parent_[node];
      }
      bucket[parent_[node]].clear();
    }
    PostDominators found{.immediate = std::vector<std::size_t>(blocks_.size(), ControlFlow::never), .order = {}};
    for (std::size_t node = 1; node < semi_.size(); ++node) {
      if (dominator_[node] != semi_[node]) dominator_[node] = dominator_[dominator_[node]];
      found.immediate[block_of_[node]] = block_of_[dominator_[node]];
      found.order.push_back(block_of_[node]);
    }
    return found;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// Against the arrows, from the exit.
  void walk() {
    std::vector<std::vector<std::size_t>> predecessors(blocks_.size() + 1);
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      for (const std::size_t successor : blocks_[block].successors) predecessors[successor].push_back(block);
    }
    number_.assign(blocks_.size() + 1, none);
    std::vector<std::pair<std::size_t, std::size_t>> open;  // a node, its next predecessor
    const auto meet = [&](std::size_t block, std::size_t parent) {
      number_[block] = block_of_.size();
      open.emplace_back(block_of_.size(), 0);
      block_of_.push_back(block);
      parent_.push_back(parent);
    };
    for (meet(blocks_.size(), 0); !open.empty();) {
      auto& [node, next] = open.back();
      const auto& ways = predecessors[block_of_[node]];
      if (next == ways.size()) {
        open.pop_back();
      } else if (const std::size_t block = ways[next++]; number_[block] == none) {
        meet(block, node);
      }
    }
  }

  /// The node with the least semidominator among this one and its linked ancestors. Paths are shortened.
  std::size_t best_to(std::size_t node) {
    if (ancestor_[node] == none) return node;
    path_.clear();
    for (std::size_t at = node; ancestor_[ancestor_[at]] != none; at = ancestor_[at]) path_.push_back(at);
    for (; !path_.empty(); path_.pop_back()) {
      const std::size_t at = path_.back();
      const std::size_t above = ancestor_[at];
      if (semi_[best_[above]] < semi_[best_[at]]) best_[at] = best_[above];
      ancestor_[at] = ancestor_[above];
    }
    return best_[node];
  }

  const std::vector<BasicBlock>& blocks_;
  std::vector<std::size_t> number_;    ///< by block
  std::vector<std::size_t> block_of_;  ///< by node, as all below
  std::vector<std::size_t> parent_;    ///< in the walk
  std::vector<std::size_t> semi_;
  std::vector<std::size_t> best_;
  std::vector<std::size_t> ancestor_;
  std::vector<std::size_t> dominator_;
  std::vector<std::size_t> path_;
};

}  // namespace

PostDominators find_post_dominators(const std::vector<BasicBlock>& blocks) { return DominatorFinder(blocks).find(); }

}  // namespace gpushare::ptx
