// SPDX-License-Identifier: Apache-2.0
// A function's body as basic blocks.
#pragma once

#include <vector>

#include "core/transform/ptx_module.hpp"

namespace gpushare::ptx {

/// Statements [begin, end) of a function, and where control goes from there.
struct BasicBlock {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<std::size_t> successors;  ///< blocks; ControlFlow::exit() is the function's end
  /// The instruction that decides between the successors, or nullptr where there is no choice.
  const Instruction* decides = nullptr;
};

class ControlFlow {
 public:
  /// Throws InvalidInput where a branch has no target.
  ControlFlow(const Module& module, const Function& function);

  const std::vector<BasicBlock>& blocks() const { return blocks_; }
  std::size_t exit() const { return blocks_.size(); }

  /// The blocks that run only on some of the ways out of this block: all that can be reached from its successors
  /// before the point where every way comes together again (the immediate post-dominator).
  std::vector<std::size_t> region_after(std::size_t block) const;

 private:
  void find_blocks(const Function& function);
  void connect(const Module& module, const Function& function);
  void find_post_dominators();
  std::vector<std::size_t> blocks_before_their_successors() const;

  std::vector<BasicBlock> blocks_;
  /// By block: where all ways out of it first meet again. A block that never ends has none.
  std::vector<std::size_t> immediate_post_dominator_;
};

}  // namespace gpushare::ptx
