// SPDX-License-Identifier: Apache-2.0
#include "core/workers/rank_room.hpp"

#include <algorithm>
#include <numeric>

namespace gpushare {
namespace {

/// What a launch has use for.
struct Need {
  int per_sm = 0;                ///< workers on an SM where it may have some, if its tasks are spread evenly
  std::size_t emptied_from = 0;  ///< from this SM on there would be places for all tasks, if who ranks behind were gone
};

constexpr Bytes undivided{-1};

/// How an SM's L1 cache is divided, at least: all who are there have been let in.
Bytes divided(std::span<const RoomClaim> launches, std::size_t sm) {
  Bytes widest = undivided;
  for (const RoomClaim& launch : launches) {
    if (launch.present[sm] > 0) widest = std::max(widest, launch.split);
  }
  return widest;
}

int workers_per_sm(const RoomClaim& launch) {
  const auto sms = std::ranges::count_if(launch.wanted, [](int wanted) { return wanted > 0; });
  return sms == 0 ? 0 : static_cast<int>(std::min<std::int64_t>((launch.unclaimed + sms - 1) / sms, 1 << 16));
}

/// What it has there, or will have.
int held(const RoomClaim& launch, const Need& need, std::size_t sm) {
  return std::max(launch.present[sm], std::min(launch.wanted[sm], need.per_sm));
}

void take(SmRoom& room, const BlockFootprint& block, int count) {
  for (int left = std::min(count, room.count(block)); left > 0; --left) room.take(block);
}

/// Most SMs are: sharing out one takes some hundred nanoseconds, and this runs at every plan and every look.
bool is_like_before(std::span<const RoomClaim> launches, std::size_t sm) {
  return sm > 0 && std::ranges::all_of(launches, [sm](const RoomClaim& launch) {
           return launch.wanted[sm] == launch.wanted[sm - 1] && launch.present[sm] == launch.present[sm - 1];
         });
}

/// How many more a launch could have on the SM if all who rank behind it were gone.
int places_if_first(const Device& device, std::span<const RoomClaim> launches, std::span<const Need> needs,
                    std::size_t rank, std::size_t sm) {
  const RoomClaim& launch = launches[rank];
  const bool is_let_in = launch.split <= divided(launches, sm);
  SmRoom room(device.per_sm);
  for (std::size_t before = 0; before < rank; ++before) {
    if (launches[before].present[sm] > 0 && !is_let_in) return 0;
    take(room, launches[before].block, held(launches[before], needs[before], sm));
  }
  return std::max(0, std::min(launch.wanted[sm], room.count(launch.block)) - launch.present[sm]);
}

std::size_t emptied_from(const Device& device, std::span<const RoomClaim> launches, std::span<const Need> needs,
                         std::size_t rank) {
  const auto sms = static_cast<std::size_t>(device.sms);
  std::int64_t lacking = launches[rank].unclaimed;
  const auto wants_less = [&](const RoomClaim& behind) { return behind.split < launches[rank].split; };
  if (std::ranges::none_of(launches.subspan(rank + 1), wants_less)) return 0;
  if (lacking >= std::reduce(launches[rank].wanted.begin(), launches[rank].wanted.end(), std::int64_t{0})) return 0;
  std::size_t sm = sms;
  for (int places = 0; lacking > 0 && sm > 0; lacking -= places) {
    --sm;
    if (sm + 1 < sms && is_like_before(launches, sm + 1)) continue;
    places = places_if_first(device, launches, needs, rank, sm);
  }
  return sm;
}

void share_out(SmRoom room, std::size_t sm, std::span<const RoomClaim> launches, std::span<const Need> needs,
               std::span<Allowance> allowed, std::span<char> is_open) {
  const Bytes division = divided(launches, sm);
  bool somebody_lacks_room = false;
  bool somebody_stays = false;
  Bytes kept_out;  // are those who want the L1 cache divided for less than this
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    const RoomClaim& launch = launches[rank];
    const int fits = launch.split < kept_out ? 0 : room.count(launch.block);
    if (somebody_lacks_room) allowed[rank].workers[sm] = std::min(launch.wanted[sm], fits);
    const int holds = std::min(fits, held(launch, needs[rank], sm));
    const bool lacks_room = launch.present[sm] < std::min(launch.wanted[sm], needs[rank].per_sm);
    const bool waits_for_empty_sm = lacks_room && holds > 0 && division < launch.split && !somebody_stays;
    if (waits_for_empty_sm && launch.is_seen && sm >= needs[rank].emptied_from) {
      kept_out = std::max(kept_out, launch.split);
    }
    take(room, launch.block, holds);
    somebody_lacks_room |= lacks_room;
    somebody_stays |= launch.present[sm] > 0 && holds > 0;
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
    if (other == rank) continue;
    const int blocks = held(launches[other], needs[other], sm);
    if (blocks > 0 && launches[other].split < launches[rank].split) return 0;
    take(room, launches[other].block, blocks);
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
    needs.push_back({.per_sm = workers_per_sm(launch)});
  }
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    if (finds_spare_room(device, launches, needs, rank)) needs[rank] = {};
  }
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    if (needs[rank].per_sm > 0) needs[rank].emptied_from = emptied_from(device, launches, needs, rank);
  }
  std::vector<char> is_open(launches.size());
  for (std::size_t sm = 0; sm < static_cast<std::size_t>(device.sms); ++sm) {
    const auto is_first_emptied = [sm](const Need& need) { return need.emptied_from == sm; };
    if (is_like_before(launches, sm) && std::ranges::none_of(needs, is_first_emptied)) {
      for (Allowance& each : allowed) each.workers[sm] = each.workers[sm - 1];
    } else {
      share_out(SmRoom(device.per_sm), sm, launches, needs, allowed, is_open);
    }
    for (std::size_t rank = 0; rank < launches.size(); ++rank) allowed[rank].open_sms += is_open[rank];
  }
  return allowed;
}

}  // namespace gpushare
