// SPDX-License-Identifier: Apache-2.0
// CUDA's limits of grids and blocks, checked before a launch is sent.
#pragma once

#include <gpushare/client.hpp>

namespace gpushare::client {

/// Throws InvalidInput; the message names kernel and extent.
void require_grid(const std::string& kernel, const Extent& grid);
void require_block(const std::string& kernel, const Extent& block);

}  // namespace gpushare::client
