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

/// Most SMs are: sharing out one takes some hundred nanoseconds, and this runs at every plan and every look.
bool is_like_before(std::span<const RoomClaim> launches, std::size_t sm) {
  return sm > 0 && std::ranges::all_of(launches, [sm](const RoomClaim& launch) {
           return launch.wanted[sm] == launch.wanted[sm - 1] && launch.present[sm] == launch.present[sm - 1];
         });
}

void share_out(SmRoom room, std::size_t sm, std::span<const RoomClaim> launches, std::span<const int> needed,
               std::span<Allowance> allowed, std::span<char> is_open) {
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
    is_open[rank] = allowed[rank].workers[sm] > 0 || room.fits(launches[rank].block) ? 1 : 0;
  }
}

int spare_places(const Device& device, std::span<const RoomClaim> launches, std::span<const int> needed,
                 std::size_t rank, std::size_t sm) {
  if (launches[rank].wanted[sm] == 0) return 0;
  SmRoom room(device.per_sm);
  for (std::size_t other = 0; other < launches.size(); ++other) {
    const RoomClaim& launch = launches[other];
    const int blocks = other == rank ? 0 : std::max(launch.present[sm], std::min(launch.wanted[sm], needed[other]));
    for (int block = std::min(blocks, room.count(launch.block)); block > 0; --block) room.take(launch.block);
  }
  return std::min(launches[rank].wanted[sm], room.count(launches[rank].block));
}

/// One place on every SM is much more than a launch of a few blocks needs, if it finds some that nobody else wants.
/// Looked for from the end: there policies keep SMs free.
bool finds_spare_room(const Device& device, std::span<const RoomClaim> launches, std::span<const int> needed,
                      std::size_t rank) {
  std::int64_t lacking = launches[rank].unclaimed;
  if (lacking >= device.sms || launches.size() == 1) return false;
  for (auto sm = static_cast<std::size_t>(device.sms); sm-- > 0 && lacking > 0;) {
    lacking -= spare_places(device, launches, needed, rank, sm);
  }
  return lacking <= 0;
}

}  // namespace

std::vector<Allowance> make_room(const Device& device, std::span<const RoomClaim> launches) {
  std::vector<Allowance> allowed;
  std::vector<int> needed;
  for (const RoomClaim& launch : launches) {
    allowed.push_back({.workers = launch.wanted});
    needed.push_back(needed_per_sm(launch));
  }
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    if (finds_spare_room(device, launches, needed, rank)) needed[rank] = 0;
  }
  std::vector<char> is_open(launches.size());
  for (std::size_t sm = 0; sm < static_cast<std::size_t>(device.sms); ++sm) {
    if (is_like_before(launches, sm)) {
      for (Allowance& each : allowed) each.workers[sm] = each.workers[sm - 1];
    } else {
      share_out(SmRoom(device.per_sm), sm, launches, needed, allowed, is_open);
    }
    for (std::size_t rank = 0; rank < launches.size(); ++rank) allowed[rank].open_sms += is_open[rank];
  }
  return allowed;
}

}  // namespace gpushare
