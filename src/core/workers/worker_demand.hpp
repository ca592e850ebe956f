// SPDX-License-Identifier: Apache-2.0
// How many workers to launch, and how they should claim. The hardware chooses the SMs of workers, and one that finds no
// place on its SM leaves at once; so a launch that wants workers on some SMs only asks for more than it needs there,
// polls the tables, and asks for the rest, with more at each try (worker_tries.hpp).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/model/device.hpp"

namespace gpushare {

/// The requested and the present workers of a launch.
struct WorkerDemand {
  int wanted = 0;       ///< sum over the SMs
  int missing = 0;      ///< sum over the SMs of requested workers that are not present
  int lacking_sms = 0;  ///< SMs where some are missing

  void add_sm(int wanted_here, int present) {
    wanted += wanted_here;
    if (present >= wanted_here) return;
    missing += wanted_here - present;
    ++lacking_sms;
  }
};

/// The number of workers to launch so that the missing ones come about if the hardware spreads them evenly over the SMs
/// with free places. With fewer workers than SMs some SMs may get none, again and again (WorkerTries). Never more than
/// fill the GPU twice: workers without a place have to leave again, and the launch does not end before they have run.
inline int workers_to_launch(const WorkerDemand& demand, int open_sms, int sms, int max_residency) {
  if (demand.missing == 0) return 0;
  const int spread = std::max(1, (open_sms + demand.lacking_sms - 1) / demand.lacking_sms);
  return static_cast<int>(
      std::min<std::int64_t>(std::int64_t{demand.missing} * spread, std::int64_t{2} * sms * max_residency));
}

/// Tasks per claim: as much work as hides the cost of the claim, and bounds what a worker told to leave does first.
inline std::uint16_t chunk_for(Duration block_time, const RuntimeTuning& tuning = {}) {
  if (block_time <= Duration{}) return 1;
  constexpr std::int64_t most_tasks = 16;
  return static_cast<std::uint16_t>(std::clamp<std::int64_t>(tuning.work_per_claim / block_time, 1, most_tasks));
}

/// A claim takes at most (tasks left >> guide): about a quarter of a worker's fair share.
inline std::uint32_t guide_for(int workers) {
  return static_cast<std::uint32_t>(std::bit_width(4 * static_cast<std::uint32_t>(std::max(workers, 1))) - 1);
}

}  // namespace gpushare
