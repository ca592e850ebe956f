// SPDX-License-Identifier: Apache-2.0
#include "core/workers/rank_room.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// What a launch has use for.
struct Need {
  int per_sm = 0;                ///< workers on an SM where it may have some, if its tasks are spread evenly
  std::size_t emptied_from = 0;  ///< from this SM on it would find room for all tasks, if nobody else were there
};

Need need_of(const RoomClaim& launch) {
  const auto sms = std::ranges::count_if(launch.wanted, [](int wanted) { return wanted > 0; });
  if (sms == 0) return {};
  Need need{.per_sm = static_cast<int>(std::min<std::int64_t>((launch.unclaimed + sms - 1) / sms, 1 << 16)),
            .emptied_from = launch.wanted.size()};
  for (std::int64_t lacking = launch.unclaimed; lacking > 0 && need.emptied_from > 0;) {
    lacking -= launch.wanted[--need.emptied_from];
  }
  return need;
}

/// Most SMs are: sharing out one takes some hundred nanoseconds, and this runs at every plan and every look.
bool is_like_before(std::span<const RoomClaim> launches, std::span<const Need> needs, std::size_t sm) {
  const auto is_first_emptied = [sm](const Need& need) { return need.emptied_from == sm; };
  return sm > 0 && std::ranges::none_of(needs, is_first_emptied) &&
         std::ranges::all_of(launches, [sm](const RoomClaim& launch) {
           return launch.wanted[sm] == launch.wanted[sm - 1] && launch.present[sm] == launch.present[sm - 1];
         });
}

void share_out(SmRoom room, std::size_t sm, std::span<const RoomClaim> launches, std::span<const Need> needs,
               std::span<Allowance> allowed, std::span<char> is_open) {
  bool somebody_lacks_room = false;
  Bytes kept_out;  // by those who want the L1 cache divided for less than this
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    const RoomClaim& launch = launches[rank];
    const int fits = launch.split < kept_out ? 0 : room.count(launch.block);
    if (somebody_lacks_room) allowed[rank].workers[sm] = std::min(launch.wanted[sm], fits);
    const int target = std::min(launch.wanted[sm], needs[rank].per_sm);
    const bool lacks_room = launch.present[sm] < target;
    const int takes = std::min(fits, std::max(launch.present[sm], target));
    for (int block = 0; block < takes; ++block) room.take(launch.block);
    somebody_lacks_room |= lacks_room;
    if (lacks_room && sm >= needs[rank].emptied_from) kept_out = std::max(kept_out, launch.split);
  }
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    is_open[rank] = allowed[rank].workers[sm] > 0 || room.fits(launches[rank].block) ? 1 : 0;
  }
}

int spare_places(const Device& device, std::span<const RoomClaim> launches, std::span<const Need> needs,
                 std::size_t rank, std::size_t sm) {
  if (launches[rank].wanted[sm] == 0) return 0;
  SmRoom room(device.per_sm);
  for (std::size_t other = 0; other < launches.size(); ++other) {
    const RoomClaim& launch = launches[other];
    if (launch.present[sm] > 0 && launch.split < launches[rank].split) return 0;
    const int blocks =
        other == rank ? 0 : std::max(launch.present[sm], std::min(launch.wanted[sm], needs[other].per_sm));
    for (int block = std::min(blocks, room.count(launch.block)); block > 0; --block) room.take(launch.block);
  }
  return std::min(launches[rank].wanted[sm], room.count(launches[rank].block));
}

/// One place on every SM is much more than a launch of a few blocks needs, if it finds some that nobody else wants.
/// Looked for from the end: there policies keep SMs free.
bool finds_spare_room(const Device& device, std::span<const RoomClaim> launches, std::span<const Need> needs,
                      std::size_t rank) {
  std::int64_t lacking = launches[rank].unclaimed;
  if (lacking >= device.sms || launches.size() == 1) return false;
  for (auto sm = static_cast<std::size_t>(device.sms); sm-- > 0 && lacking > 0;) {
    lacking -= spare_places(device, launches, needs, rank, sm);
  }
  return lacking <= 0;
}

}  // namespace

std::vector<Allowance> make_room(const Device& device, std::span<const RoomClaim> launches) {
  std::vector<Allowance> allowed;
  std::vector<Need> needs;
  for (const RoomClaim& launch : launches) {
    allowed.push_back({.workers = launch.wanted});
    needs.push_back(need_of(launch));
  }
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    if (finds_spare_room(device, launches, needs, rank)) needs[rank] = {};
  }
  std::vector<char> is_open(launches.size());
  for (std::size_t sm = 0; sm < static_cast<std::size_t>(device.sms); ++sm) {
    if (is_like_before(launches, needs, sm)) {
      for (Allowance& each : allowed) each.workers[sm] = each.workers[sm - 1];
    } else {
      share_out(SmRoom(device.per_sm), sm, launches, needs, allowed, is_open);
    }
    for (std::size_t rank = 0; rank < launches.size(); ++rank) allowed[rank].open_sms += is_open[rank];
  }
  return allowed;
}

}  // namespace gpushare
