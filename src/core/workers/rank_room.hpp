// SPDX-License-Identifier: Apache-2.0
// Ranks among launches whose blocks are there already. A block scheduler in hardware would give every slot that falls
// free to whoever ranks first; workers keep their slots. So where a launch lacks room, those that rank behind it have
// to make some: they get smaller quotas until it has its place.
//
// An SM's L1 cache is divided when the first block comes to it, and mostly takes none that wants more of it to be
// shared memory before the last one has left (docs/results/simulator-accuracy.md). So where that keeps
// a launch out, and nobody stays who ranks before it, it is not enough to make room beside oneself: whoever wants less
// leaves in whole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/residency.hpp"

namespace gpushare {

/// What one launch wants and has.
struct RoomClaim {
  BlockFootprint block{};
  std::vector<int> wanted{};   ///< workers, by SM
  std::vector<int> present{};  ///< workers, by SM
  std::int64_t unclaimed = 0;  ///< tasks that nobody works on yet: a launch needs no more workers than that
  Bytes split{};               ///< how it wants an SM's L1 cache divided: shared_memory_split()
  bool is_seen = true;         ///< does `present` tell where its blocks are? Else nobody could say what keeps it out
  bool is_fleeting = false;    ///< it is over before anybody could see where its blocks are
  bool leaves_soon = false;    ///< told to leave, its workers are gone within some tens of microseconds
  friend bool operator==(const RoomClaim&, const RoomClaim&) = default;
};

struct Allowance {
  std::vector<int> workers{};  ///< that may stay, by SM
  /// SMs on which the hardware may place a worker: those where it may stay, and those with room for one that has to
  /// leave.
  int open_sms = 0;
};

/// What each launch may have. Launches in rank order.
std::vector<Allowance> make_room(const Device& device, std::span<const RoomClaim> launches);

}  // namespace gpushare
