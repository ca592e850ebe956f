// SPDX-License-Identifier: Apache-2.0
// The number of workers that a launch asks for from try to try. The hardware fills SMs in a fixed order: the same
// number of workers comes to the same SMs again, and where the launch may have none there, they leave again. This
// happens to launches with fewer blocks than the GPU has SMs, which ask for few. So while workers are missing, each try
// is larger than the last one, up to as many as fill the GPU: some of those come to every SM that has room.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpushare {

class WorkerTries {
 public:
  /// The workers of the next try. `usual` would do if the hardware spread them evenly (workers_to_launch()), `places`
  /// is how many fit on all SMs of an empty GPU. Never fewer than usual.
  int next(int usual, int places) {
    const std::int64_t wanted = std::int64_t{usual} * growth_;
    if (wanted < places) growth_ *= growth_of_a_try;
    return std::max(usual, static_cast<int>(std::min<std::int64_t>(wanted, places)));
  }

  /// A poll has shown that none is missing: the next time that some are, the usual number is tried first.
  void have_found_places() { growth_ = 1; }

 private:
  /// A try takes a launch and a poll, some 15 us, and the patience behind it grows; one more worker that leaves again
  /// takes a place for some microseconds. From one worker to one for each of 132 SMs it takes four more tries; with a
  /// factor of two it would take eight.
  static constexpr std::int64_t growth_of_a_try = 4;

  std::int64_t growth_ = 1;
};

}  // namespace gpushare
