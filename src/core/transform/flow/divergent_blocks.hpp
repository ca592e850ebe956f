// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/transform/flow/control_flow.hpp"
#include "core/transform/flow/cycles.hpp"

namespace gpushare::ptx {

/// Collects the blocks that run only on some paths out of given blocks: those between a choice and the point where all
/// paths meet again. Each block is visited once, however many choices it depends on.
class DivergentBlocks {
 public:
  /// `cycles`: if given, a choice adds only blocks of its cycle.
  explicit DivergentBlocks(const ControlFlow& flow, const Cycles* cycles = nullptr);

  /// The blocks that a choice at the end of this one adds. They may end with choices themselves; following those too
  /// gives all blocks before the meeting point.
  std::vector<std::size_t> add_choice(std::size_t block);

 private:
  /// This block, or the first behind it (by meetings) that is not among the divergent ones.
  std::size_t first_outside(std::size_t block);
  void add_endless(std::size_t block, std::vector<std::size_t>& added);
  bool are_together(std::size_t block, std::size_t other) const;

  const ControlFlow& flow_;
  const Cycles* cycles_;
  /// By block: itself where it is not divergent, else a block at which it, or one behind it, meets.
  std::vector<std::size_t> behind_;
};

}  // namespace gpushare::ptx
