// SPDX-License-Identifier: Apache-2.0
// A launch on its way through the GPU.
#pragma once

#include <memory>

#include "device/context.hpp"
#include "device/limits.hpp"
#include "device/module.hpp"
#include "ptx_interpreter/block.hpp"

namespace gpushare::stand_in {

struct Grid {
  std::shared_ptr<const Module> module;  ///< may be unloaded before the end
  interpreter::Launch launch;
  Footprint block;
  int priority = 0;      ///< of its stream: lower is more urgent
  SmMask sms = all_sms;  ///< on which its blocks may be
  std::size_t placed = 0;
  std::size_t ended = 0;

  std::size_t blocks() const { return launch.grid.blocks.count(); }
  bool is_placed() const { return placed == blocks(); }
  bool has_ended() const { return ended == blocks(); }
};

}  // namespace gpushare::stand_in
