// SPDX-License-Identifier: Apache-2.0
// Handles of kernels of libraries. A launch takes them as it takes functions, but their names are asked for otherwise.
#pragma once

namespace gpushare::intercept {

/// Where it is not, it is a function, or a kernel that this process got before it had a page.
bool is_kernel_of_library(const void* handle);

}  // namespace gpushare::intercept
