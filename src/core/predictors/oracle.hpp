// SPDX-License-Identifier: Apache-2.0
// Knowledge that only an oracle has: how long a launch takes alone, and the next arrivals.
#pragma once

#include "core/engine/state.hpp"
#include "core/model/errors.hpp"

namespace gpushare {

/// The launch's runtime alone, measured beforehand. Throws PolicyError where the workload does not have it.
inline Duration known_runtime(const Launch& launch) {
  if (launch.alone) return *launch.alone;
  throw PolicyError("an oracle policy needs the runtime alone of kernel '" + launch.kernel.name +
                    "': compare() and run() measure it, Launch(alone_ns=...) states it");
}

/// The part of the known runtime that is still to come.
inline Duration known_remaining(const RunningLaunch& launch) {
  const double left = static_cast<double>(launch.unfinished()) / static_cast<double>(launch.blocks());
  return Duration(static_cast<Duration::rep>(left * nanoseconds(known_runtime(*launch.launch))));
}

/// Kernels that start within 100 cycles of each other start together (SRTF section 6.1.3).
inline Duration together(const Device& device) {
  return Duration(static_cast<Duration::rep>(100 / device.clock_hz * 1e9));
}

}  // namespace gpushare
