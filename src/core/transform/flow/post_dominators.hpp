// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/transform/flow/control_flow.hpp"

namespace gpushare::ptx {

struct PostDominators {
  /// By block: the first block that every path from it to the exit passes; ControlFlow::never where there is no path.
  std::vector<std::size_t> immediate;
  /// The blocks that can reach the exit, each behind its immediate post-dominator.
  std::vector<std::size_t> order;
};

PostDominators find_post_dominators(const std::vector<BasicBlock>& blocks);

}  // namespace gpushare::ptx
