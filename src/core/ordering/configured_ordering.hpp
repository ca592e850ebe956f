// SPDX-License-Identifier: Apache-2.0
// The seam of the registry: an ordering whose options have been read, before it is known for which device.
#pragma once

#include <functional>
#include <memory>

#include "core/engine/ordering.hpp"
#include "core/ordering/kernel_time.hpp"
#include "core/ordering/solvers/copy_pieces.hpp"

namespace gpushare {

/// What a run on a real GPU has in addition to a simulated one.
struct OrderingSurroundings {
  /// Starts a time limit; the result tests whether it is over. Limits every search, as the GPU waits meanwhile.
  std::function<std::function<bool()>(Duration)> stopwatch{};
  std::shared_ptr<KernelTimes> learnt{};  ///< from earlier runs
};

struct ConfiguredOrdering {
  /// The ordering on this device, which must outlive it; nullptr where every operation goes when it is ready.
  std::function<std::unique_ptr<Ordering>(const Device&, const OrderingSurroundings&)> make =
      [](const Device&, const OrderingSurroundings&) -> std::unique_ptr<Ordering> { return nullptr; };
  /// The pieces in which large copies go on this device.
  std::function<CopyPieces(const Device&)> pieces = [](const Device&) { return CopyPieces{}; };
  /// Does it hold back operations whose arrays do not fit? Then it needs a workload known beforehand.
  bool limits_memory = false;
};

}  // namespace gpushare
