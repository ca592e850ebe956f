// SPDX-License-Identifier: Apache-2.0
// What CuMAS orders (section 3.1): copies to the device, then kernels, then copies to the host, all of one application,
// each part perhaps empty. To a solver a task is how long it occupies each of the three engines.
#pragma once

#include "core/model/units.hpp"

namespace gpushare {

struct Task {
  Duration uplink{};    ///< s: all its copies to the device
  Duration compute{};   ///< p: all its kernels
  Duration downlink{};  ///< r: all its copies to the host
  Bytes memory;         ///< device memory from its first operation to the end of its last
  double weight = 1;    ///< for Objective::WeightedTurnaround
  friend bool operator==(const Task&, const Task&) = default;
};

}  // namespace gpushare
