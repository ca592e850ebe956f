// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/transform/control_flow.hpp"

namespace gpushare::ptx {

/// Which choices may threads leave the function by, while those that went the other way still wait for them?
/// Behind `if (c) v = __shfl_sync(~0u, ...); __syncthreads();` none has: it would have to pass the barrier, and that
/// waits for all. So those who skip the wait would have hung in the original, and are the same lanes in a worker.
class LeavingChoices {
 public:
  LeavingChoices(const Function& function, const ControlFlow& flow);

  /// Of those that part at the end of this block: may some have left, or be past a barrier, before all meet again?
  bool may_lose_threads(std::size_t block) const;

 private:
  /// What a thread may meet in a block, in order: the first of these.
  enum class Meets { Nothing, Barrier, Others };  ///< Others: a barrier of some threads, or a call

  const ControlFlow& flow_;
  std::vector<Meets> meets_;  ///< by block
  std::vector<bool> leaves_;  ///< by block: may a thread come from its beginning to the end without a barrier of all?
};

}  // namespace gpushare::ptx
