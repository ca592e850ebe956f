// SPDX-License-Identifier: Apache-2.0
// Enforces ranks among launches that have blocks on the GPU already. A block scheduler in hardware would give every
// free slot to the launch that ranks first; workers keep their slots. So where a launch lacks places, those that rank
// behind it get smaller quotas until it has its places.
//
// An SM's L1 cache is divided when the first block comes to it, and mostly it accepts no block that needs more shared
// memory before the last one has left (docs/results/simulator-accuracy.md). So where that blocks a launch, and no
// launch before it in rank stays, it is not enough to free places: all workers with a smaller split leave.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/residency.hpp"

namespace gpushare {

/// The request of a launch, and its workers.
struct RoomClaim {
  BlockFootprint block{};
  std::vector<int> wanted{};   ///< workers, by SM
  std::vector<int> present{};  ///< workers, by SM
  std::int64_t unclaimed = 0;  ///< unclaimed tasks: a launch needs no more workers than that
  Bytes split{};               ///< how it wants an SM's L1 cache divided: shared_memory_split()
  bool is_seen = true;         ///< is `present` known? Else it is unknown what blocks the launch
  bool is_fleeting = false;    ///< it ends before a poll could show the places of its blocks
  bool leaves_soon = false;    ///< its workers leave within some tens of microseconds after an order
  friend bool operator==(const RoomClaim&, const RoomClaim&) = default;
};

struct Allowance {
  std::vector<int> workers{};  ///< that may stay, by SM
  /// SMs on which the hardware may place a worker: those where it may stay, and those with room for one that has to
  /// leave.
  int open_sms = 0;
};

/// The grant of each launch. Launches in rank order.
std::vector<Allowance> make_room(const Device& device, std::span<const RoomClaim> launches);

}  // namespace gpushare
