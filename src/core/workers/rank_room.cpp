// SPDX-License-Identifier: Apache-2.0
#include "core/workers/rank_room.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "core/workers/claims_by_sm.hpp"

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

/// The first of as many SMs as have so many places together, counted from the end: there policies keep SMs free.
template <typename Places>
std::optional<std::size_t> enough_from(std::int64_t lacking, std::size_t sms, const Places& places) {
  std::size_t sm = sms;
  while (lacking > 0 && sm > 0) lacking -= places(--sm);
  return lacking > 0 ? std::nullopt : std::optional(sm);
}

/// What is left of an SM beside all that anybody has there or wants.
struct Leftover {
  SmRoom room;
  Bytes narrowest{std::numeric_limits<std::int64_t>::max()};  ///< split of those who will be there

  void reserve(const RoomClaim& launch, int blocks) {
    if (blocks == 0) return;
    room.take(launch.block, blocks);
    narrowest = std::min(narrowest, launch.split);
  }

  /// For one who has `present` blocks of its own there.
  int places(const RoomClaim& launch, std::size_t sm) const {
    if (narrowest < launch.split) return 0;
    if (launch.present[sm] == 0) return room.count(launch.block, launch.wanted[sm]);
    SmRoom beside = room;
    beside.give_back(launch.block, launch.present[sm]);
    return beside.count(launch.block, launch.wanted[sm]);
  }
};

/// Beside what is there, and what launches that are not small will have.
std::vector<Leftover> leftover_of(const ClaimsBySm& claims, std::span<const Need> needs) {
  std::vector<Leftover> all;
  for (std::size_t sm = 0; sm < claims.sms(); ++sm) {
    if (claims.first_like(sm) < sm) {
      all.push_back(all[claims.first_like(sm)]);
      continue;
    }
    all.push_back({.room = SmRoom(claims.device.per_sm)});
    for (std::size_t rank = 0; rank < claims.size(); ++rank) {
      const RoomClaim& launch = claims.launches[rank];
      all.back().reserve(launch, claims.is_small(rank) ? launch.present[sm] : held(launch, needs[rank], sm));
    }
  }
  return all;
}

/// Does anybody behind it want less shared memory?
bool may_be_kept_out(std::span<const RoomClaim> launches, std::size_t rank) {
  return std::ranges::any_of(launches.subspan(rank + 1),
                             [&](const RoomClaim& behind) { return behind.split < launches[rank].split; });
}

/// A small launch that keeps its need will have a place on every SM, and use a few of them: the others are for launches
/// of its kind that rank behind it. If each of twenty had its own, nobody else would have any.
class PlacesOfSmall {
 public:
  void keep(const RoomClaim& launch, const Need& need) {
    std::int64_t made = 0;
    for (std::size_t sm = 0; sm < launch.wanted.size(); ++sm) {
      made += std::max(0, std::min(launch.wanted[sm], need.per_sm) - launch.present[sm]);
    }
    kept_.push_back({&launch, made - launch.unclaimed});
  }

  bool take(const RoomClaim& launch) {
    const auto enough = std::ranges::find_if(kept_, [&](const Kept& kept) {
      return kept.left >= launch.unclaimed && kept.by->block == launch.block && kept.by->wanted == launch.wanted;
    });
    if (enough == kept_.end()) return false;
    enough->left -= launch.unclaimed;
    return true;
  }

 private:
  struct Kept {
    const RoomClaim* by;
    std::int64_t left;
  };
  std::vector<Kept> kept_;
};

/// Small launches in rank order: each takes places that nobody else wants, or those of another one, or keeps its need.
void find_spare_room(const ClaimsBySm& claims, std::span<Need> needs) {
  if (!claims.is_any_small()) return;
  std::vector<Leftover> leftover = leftover_of(claims, needs);
  PlacesOfSmall places_of_small;
  for (std::size_t rank = 0; rank < claims.size(); ++rank) {
    if (!claims.is_small(rank)) continue;
    const RoomClaim& launch = claims.launches[rank];
    if (places_of_small.take(launch)) {
      needs[rank] = {};
      continue;
    }
    const auto places_on = [&](std::size_t sm) { return leftover[sm].places(launch, sm); };
    const auto from = enough_from(launch.unclaimed, claims.sms(), places_on);
    if (from) {
      needs[rank] = {};
    } else if (launch.is_seen && !may_be_kept_out(claims.launches, rank)) {
      places_of_small.keep(launch, needs[rank]);  // else it has SMs emptied, and no more than it needs itself
    }
    std::int64_t lacking = launch.unclaimed;
    for (std::size_t sm = claims.sms(); sm-- > from.value_or(0);) {
      const int takes = from ? static_cast<int>(std::min<std::int64_t>(lacking, places_on(sm))) : 0;
      lacking -= takes;
      leftover[sm].reserve(launch, std::max(takes, held(launch, needs[rank], sm)) - launch.present[sm]);
    }
  }
}

/// How many more each launch could have on the SM if all who rank behind it were gone.
std::vector<int> places_by_rank(const ClaimsBySm& claims, std::span<const Need> needs, std::size_t sm) {
  const Bytes division = divided(claims.launches, sm);
  std::vector<int> places;
  SmRoom room(claims.device.per_sm);
  bool somebody_is_there = false;
  for (std::size_t rank = 0; rank < claims.size(); ++rank) {
    const RoomClaim& launch = claims.launches[rank];
    const bool is_let_in = !somebody_is_there || launch.split <= division;
    const int fits = room.count(launch.block, launch.wanted[sm]) - launch.present[sm];
    places.push_back(is_let_in ? std::max(0, fits) : 0);
    room.take(launch.block, room.count(launch.block, held(launch, needs[rank], sm)));
    somebody_is_there |= launch.present[sm] > 0;
  }
  return places;
}

std::vector<std::vector<int>> all_places_by_rank(const ClaimsBySm& claims, std::span<const Need> needs) {
  std::vector<std::vector<int>> all;
  for (std::size_t sm = 0; sm < claims.sms(); ++sm) {
    const std::size_t like = claims.first_like(sm);
    all.push_back(like < sm ? all[like] : places_by_rank(claims, needs, sm));
  }
  return all;
}

void find_sms_to_empty(const ClaimsBySm& claims, std::span<Need> needs) {
  std::optional<std::vector<std::vector<int>>> places;
  for (std::size_t rank = 0; rank < claims.size(); ++rank) {
    const RoomClaim& launch = claims.launches[rank];
    const std::int64_t wanted = std::reduce(launch.wanted.begin(), launch.wanted.end(), std::int64_t{0});
    if (needs[rank].per_sm == 0 || launch.unclaimed >= wanted || !may_be_kept_out(claims.launches, rank)) continue;
    if (!places) places = all_places_by_rank(claims, needs);
    const auto places_on = [&](std::size_t sm) { return (*places)[sm][rank]; };
    needs[rank].emptied_from = enough_from(launch.unclaimed, claims.sms(), places_on).value_or(0);
  }
}

/// Launches of a kind often follow each other in rank, and nothing changes between them.
class RoomInRankOrder {
 public:
  explicit RoomInRankOrder(const SmRoom& room) : room_(room) {}

  int count(const BlockFootprint& block, int most) {
    if (counted_ == nullptr || most != most_ || *counted_ != block) {
      counted_ = &block;
      most_ = most;
      count_ = room_.count(block, most);
    }
    return count_;
  }

  void take(const BlockFootprint& block, int blocks) {
    if (blocks == 0) return;
    room_.take(block, blocks);
    counted_ = nullptr;
  }

  bool fits(const BlockFootprint& block) const { return room_.fits(block); }

 private:
  SmRoom room_;
  const BlockFootprint* counted_ = nullptr;
  int most_ = 0;
  int count_ = 0;
};

/// Says for each launch whether the hardware may place a worker there, too.
void share_out(RoomInRankOrder room, std::size_t sm, std::span<const RoomClaim> launches, std::span<const Need> needs,
               std::span<Allowance> allowed, std::span<char> is_open) {
  const Bytes division = divided(launches, sm);
  bool somebody_lacks_room = false;
  bool somebody_stays = false;
  Bytes kept_out;  // are those who want the L1 cache divided for less than this
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    const RoomClaim& launch = launches[rank];
    const bool changes_nothing = needs[rank].per_sm == 0 && launch.present[sm] == 0 && !somebody_lacks_room;
    if (changes_nothing) continue;
    const bool is_kept_out = launch.split < kept_out;
    if (somebody_lacks_room) {
      allowed[rank].workers[sm] = is_kept_out ? 0 : room.count(launch.block, launch.wanted[sm]);
    }
    const int wants_held = is_kept_out ? 0 : held(launch, needs[rank], sm);
    const int holds = wants_held == 0 ? 0 : room.count(launch.block, wants_held);
    const bool lacks_room = launch.present[sm] < std::min(launch.wanted[sm], needs[rank].per_sm);
    const bool waits_for_empty_sm = lacks_room && holds > 0 && division < launch.split && !somebody_stays;
    if (waits_for_empty_sm && launch.is_seen && sm >= needs[rank].emptied_from) {
      kept_out = std::max(kept_out, launch.split);
    }
    room.take(launch.block, holds);
    somebody_lacks_room |= lacks_room;
    somebody_stays |= launch.present[sm] > 0 && holds > 0;
  }
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    is_open[rank] = allowed[rank].workers[sm] > 0 || room.fits(launches[rank].block) ? 1 : 0;
  }
}

}  // namespace

std::vector<Allowance> make_room(const Device& device, std::span<const RoomClaim> launches) {
  std::vector<Allowance> allowed;
  std::vector<Need> needs;
  for (const RoomClaim& launch : launches) {
    allowed.push_back({.workers = launch.wanted});
    needs.push_back({.per_sm = workers_per_sm(launch)});
  }
  const ClaimsBySm claims(device, launches);
  find_spare_room(claims, needs);
  find_sms_to_empty(claims, needs);
  std::vector<char> all_open(claims.sms() * launches.size());
  const auto open_on = [&](std::size_t sm) {
    return std::span(all_open).subspan(sm * launches.size(), launches.size());
  };
  std::vector<std::size_t> last_like(claims.sms());  // by the first
  for (std::size_t sm = 0; sm < claims.sms(); ++sm) {
    const std::size_t first = claims.first_like(sm);
    const std::size_t like = first < sm ? last_like[first] : sm;
    last_like[first] = sm;
    const auto is_emptied_between = [&](const Need& need) {
      return like < need.emptied_from && need.emptied_from <= sm;
    };
    if (like < sm && std::ranges::none_of(needs, is_emptied_between)) {
      for (Allowance& each : allowed) each.workers[sm] = each.workers[like];
      std::ranges::copy(open_on(like), open_on(sm).begin());
    } else {
      share_out(RoomInRankOrder(SmRoom(device.per_sm)), sm, launches, needs, allowed, open_on(sm));
    }
    for (std::size_t rank = 0; rank < launches.size(); ++rank) allowed[rank].open_sms += open_on(sm)[rank];
  }
  return allowed;
}

}  // namespace gpushare
