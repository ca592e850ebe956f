// SPDX-License-Identifier: Apache-2.0
// Memory of one GPU that kernels of another one use.
#pragma once

#include "cuda/driver/context.hpp"

namespace gpushare::cuda {

/// Kernels on `peer` may use all device memory that gpushare allocates on `home`, and its atomics are those of one GPU.
/// Throws InvalidInput where the two have no such link.
void let_access(Context& home, const Context& peer);

}  // namespace gpushare::cuda
