// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/model/units.hpp"
#include "cuda/driver/stream_pool.hpp"

namespace gpushare::cuda {

/// An original kernel in a context that has these SMs and no others.
struct OriginalSetup {
  CUfunction function = nullptr;
  std::vector<SmId> sms{};
  std::vector<SmId> wanted{};             ///< of which the context may lack some
  std::shared_ptr<StreamPool> streams{};  ///< none: those of the GPU
  Duration longest{};                     ///< it should end within this; zero where the kernel has no worker
  bool is_brief = false;                  ///< it ends before a poll could show the places of its blocks
};

}  // namespace gpushare::cuda
