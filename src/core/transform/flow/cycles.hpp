// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/transform/flow/control_flow.hpp"

namespace gpushare::ptx {

/// The parts of a function that control may go through again and again: its strongly connected blocks. Loops within
/// loops are one cycle, which is the outermost.
class Cycles {
 public:
  explicit Cycles(const ControlFlow& flow);

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// The cycle that this block is in, or none; the exit, too, is in none.
  std::size_t of(std::size_t block) const { return cycle_of_[block]; }
  /// By cycle: its blocks, in order.
  const std::vector<std::vector<std::size_t>>& all() const { return cycles_; }

 private:
  std::vector<std::size_t> cycle_of_;
  std::vector<std::vector<std::size_t>> cycles_;
};

}  // namespace gpushare::ptx
