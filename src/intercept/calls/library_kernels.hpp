// SPDX-License-Identifier: Apache-2.0
// Handles of kernels of libraries. Launches accept them like functions, but their names are queried by another call.
#pragma once

namespace gpushare::intercept {

/// False for a function, or a kernel that this process got before it had a page.
bool is_kernel_of_library(const void* handle);

}  // namespace gpushare::intercept
