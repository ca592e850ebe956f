// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/transform/ptx/called_functions.hpp"
#include "core/transform/waits/memory_reads.hpp"

namespace gpushare::ptx {

/// The reads, in a function and its callees, of memory that other blocks may write.
struct ExecutedReads {
  ExecutedReads(const Module& module, const std::vector<const Function*>& called)
      : news(module, called, sees_other_blocks),
        plain_loads(module, called, is_plain_load),
        fences(module, called, is_memory_fence) {}

  CalledInstructions news;
  CalledInstructions plain_loads;
  CalledInstructions fences;
};

}  // namespace gpushare::ptx
