// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/transform/flow/control_flow.hpp"

namespace gpushare::ptx {

/// Finds choices after which some threads may have left the function while the others still wait for them. Where `if
/// (c) v = __shfl_sync(~0u, ...);` comes before `__syncthreads();` none can have: to leave, a thread would have to pass
/// the barrier, which waits for those that wait. So the lanes arrive, or the original hangs as well.
class LeavingChoices {
 public:
  LeavingChoices(const Function& function, const ControlFlow& flow);

  /// May some of the threads that part at the end of this block have left, or be past a barrier, before all meet again?
  bool may_lose_threads(std::size_t block) const;

 private:
  /// The first wait that a thread executes in a block.
  enum class Meets { Nothing, Barrier, Others };  ///< Others: a barrier of some threads, or a call

  const ControlFlow& flow_;
  std::vector<Meets> meets_;  ///< by block
  std::vector<bool> leaves_;  ///< by block: may a thread come from its beginning to the end without a barrier of all?
};

}  // namespace gpushare::ptx
