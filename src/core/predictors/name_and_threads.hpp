// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "core/model/kernel.hpp"

namespace gpushare {

/// By what times of kernels are remembered: launches with other numbers of threads per block are of another kernel, in
/// this respect.
using NameAndThreads = std::pair<std::string, int>;

inline NameAndThreads name_and_threads(const Kernel& kernel) { return {kernel.name, kernel.needs.threads}; }

}  // namespace gpushare
