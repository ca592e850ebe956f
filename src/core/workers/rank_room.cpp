// SPDX-License-Identifier: Apache-2.0
#include "core/workers/rank_room.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// How many workers a launch has use for on an SM where it may have some, if its tasks are spread evenly.
int needed_per_sm(const RoomClaim& launch) {
  const auto sms = std::ranges::count_if(launch.wanted, [](int wanted) { return wanted > 0; });
  return sms == 0 ? 0 : static_cast<int>(std::min<std::int64_t>((launch.unclaimed + sms - 1) / sms, 1 << 16));
}

}  // namespace

std::vector<Allowance> make_room(const Device& device, std::span<const RoomClaim> launches) {
  std::vector<Allowance> allowed;
  std::vector<int> needed;
  for (const RoomClaim& launch : launches) {
    allowed.push_back({.workers = launch.wanted});
    needed.push_back(needed_per_sm(launch));
  }
  for (std::size_t sm = 0; sm < static_cast<std::size_t>(device.sms); ++sm) {
    SmRoom room(device.per_sm);
    bool somebody_lacks_room = false;
    for (std::size_t rank = 0; rank < launches.size(); ++rank) {
      const RoomClaim& launch = launches[rank];
      const int fits = room.count(launch.block);
      if (somebody_lacks_room) allowed[rank].workers[sm] = std::min(launch.wanted[sm], fits);
      const int target = std::min(launch.wanted[sm], needed[rank]);
      const bool lacks_room = launch.present[sm] < target;
      const int takes = std::min(fits, std::max(launch.present[sm], target));
      for (int block = 0; block < takes; ++block) room.take(launch.block);
      somebody_lacks_room |= lacks_room;
    }
    for (std::size_t rank = 0; rank < launches.size(); ++rank) {
      if (allowed[rank].workers[sm] > 0 || room.fits(launches[rank].block)) ++allowed[rank].open_sms;
    }
  }
  return allowed;
}

}  // namespace gpushare
