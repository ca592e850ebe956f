// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/model/device.hpp"
#include "core/model/workload.hpp"

namespace gpushare {

/// Throws InvalidInput where the application, which has no operations yet, has a deadline or a latency bound that its
/// first operation misses even with the GPU to itself. What a profile foretells may be wrong by some percent, and is
/// right for no block in particular: so it may take a third less before it counts as impossible. Of a kernel without a
/// profile nothing is foretold, nor of a copy.
void require_reachable_terms(const Application& application, const Operation& first, const Device& device);

}  // namespace gpushare
