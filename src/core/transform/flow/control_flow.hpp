// SPDX-License-Identifier: Apache-2.0
// A function's body as basic blocks.
#pragma once

#include <vector>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// Statements [begin, end) of a function, and the successors in the control flow. Paths that end in a trap are left out
/// where there are others, since a trap ends the whole grid.
struct BasicBlock {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<std::size_t> successors;  ///< blocks; ControlFlow::exit_block() is the function's end
  /// Where all paths out of the block first meet again (the immediate post-dominator), or ControlFlow::never.
  std::size_t meets_at = 0;
  /// How many such meetings there are from the block to the exit, which is the last one.
  std::size_t meetings = 0;

  /// Does its last instruction choose between paths?
  bool decides() const { return successors.size() > 1; }
};

class ControlFlow {
 public:
  /// Throws InvalidInput where a branch has no target.
  ControlFlow(const Module& module, const Function& function);

  /// The value of meets_at for blocks from which the function cannot end.
  static constexpr std::size_t never = static_cast<std::size_t>(-1);

  const std::vector<BasicBlock>& blocks() const { return blocks_; }
  std::size_t exit_block() const { return blocks_.size(); }
  /// The block that this statement is in.
  std::size_t block_of(std::size_t statement) const { return block_of_[statement]; }

 private:
  void find_blocks(const Function& function);
  void connect(const Module& module, const Function& function);
  void leave_out_traps(const Module& module, const Function& function);
  void find_meetings();

  std::vector<BasicBlock> blocks_;
  std::vector<std::size_t> block_of_;
};

}  // namespace gpushare::ptx
