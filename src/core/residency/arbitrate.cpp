// SPDX-License-Identifier: Apache-2.0
#include "core/residency/arbitrate.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/residency/leftover_by_sm.hpp"
#include "core/residency/places_by_rank.hpp"
#include "core/residency/requests_by_sm.hpp"
#include "core/residency/residency_need.hpp"

namespace gpushare {
namespace {

int workers_per_sm(const ResidencyRequest& launch) {
  const auto sms = std::ranges::count_if(launch.wanted, [](int wanted) { return wanted > 0; });
  return sms == 0 ? 0 : static_cast<int>(std::min<std::int64_t>((launch.unclaimed + sms - 1) / sms, 1 << 16));
}

/// The first of as many SMs as have so many places together, counted from the end: there policies keep SMs free.
template <typename Places>
std::optional<std::size_t> enough_from(std::int64_t lacking, std::size_t sms, const Places& places) {
  std::size_t sm = sms;
  while (lacking > 0 && sm > 0) lacking -= places(--sm);
  return lacking > 0 ? std::nullopt : std::optional(sm);
}

/// Does any launch behind it request less shared memory?
bool may_be_blocked(std::span<const ResidencyRequest> launches, std::size_t rank) {
  return std::ranges::any_of(launches.subspan(rank + 1),
                             [&](const ResidencyRequest& behind) { return behind.split < launches[rank].split; });
}

/// A small launch that keeps its need will have a place on every SM and use a few of them: the others serve launches of
/// its kind that rank behind it. If each of twenty had separate places, none would be left for other launches.
class PlacesOfSmall {
 public:
  void keep(const ResidencyRequest& launch, const Need& need) {
    std::int64_t made = 0;
    for (std::size_t sm = 0; sm < launch.wanted.size(); ++sm) {
      made += std::max(0, std::min(launch.wanted[sm], need.per_sm) - launch.present[sm]);
    }
    spares_.push_back({&launch, made - launch.unclaimed});
  }

  bool take(const ResidencyRequest& launch) {
    const auto enough = std::ranges::find_if(spares_, [&](const SparePlaces& spare) {
      return spare.left >= launch.unclaimed && spare.by->block == launch.block && spare.by->wanted == launch.wanted;
    });
    if (enough == spares_.end()) return false;
    enough->left -= launch.unclaimed;
    return true;
  }

 private:
  struct SparePlaces {
    const ResidencyRequest* by;
    std::int64_t left;
  };
  std::vector<SparePlaces> spares_;
};

/// Small launches in rank order: each takes unrequested places, or those of another small one, or keeps its need.
void find_spare_room(const RequestsBySm& claims, std::span<Need> needs) {
  if (!claims.is_any_small()) return;
  LeftoverBySm leftover(claims, needs);
  PlacesOfSmall places_of_small;
  for (std::size_t rank = 0; rank < claims.size(); ++rank) {
    if (!claims.is_small(rank)) continue;
    const ResidencyRequest& launch = claims.launches[rank];
    if (places_of_small.take(launch)) {
      needs[rank] = {};
      continue;
    }
    leftover.select(launch);
    const auto places_on = [&](std::size_t sm) { return leftover.places(sm); };
    const auto from = enough_from(launch.unclaimed, claims.sms(), places_on);
    if (from) {
      needs[rank] = {};
    } else if (launch.is_seen && !may_be_blocked(claims.launches, rank)) {
      places_of_small.keep(launch, needs[rank]);  // else it has SMs emptied, and no more than it needs itself
    }
    std::int64_t lacking = launch.unclaimed;
    for (std::size_t sm = claims.sms(); sm-- > from.value_or(0);) {
      const int takes = from ? static_cast<int>(std::min<std::int64_t>(lacking, places_on(sm))) : 0;
      lacking -= takes;
      leftover.take(sm, std::max(takes, held(launch, needs[rank], sm)) - launch.present[sm]);
    }
  }
}

void find_sms_to_empty(const RequestsBySm& claims, std::span<Need> needs) {
  std::optional<PlacesByRank> places;
  for (std::size_t rank = 0; rank < claims.size(); ++rank) {
    const ResidencyRequest& launch = claims.launches[rank];
    const std::int64_t wanted = std::reduce(launch.wanted.begin(), launch.wanted.end(), std::int64_t{0});
    if (needs[rank].per_sm == 0 || launch.unclaimed >= wanted || !may_be_blocked(claims.launches, rank)) continue;
    if (!places) places.emplace(claims, needs);
    const auto places_on = [&](std::size_t sm) { return places->on(sm, rank); };
    needs[rank].emptied_from = enough_from(launch.unclaimed, claims.sms(), places_on).value_or(0);
  }
}

/// Launches of a kind often follow each other in rank, and their results are equal.
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

/// Decides for each launch whether the hardware may place a worker there, too.
void share_out(RoomInRankOrder room, std::size_t sm, std::span<const ResidencyRequest> launches,
               std::span<const Need> needs, std::span<ResidencyGrant> allowed, std::span<char> is_open) {
  const Bytes division = divided(launches, sm);
  bool any_lacks_places = false;
  bool any_stays = false;
  Bytes blocked_split;  // launches with an L1 split for less than this
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    const ResidencyRequest& launch = launches[rank];
    const bool changes_nothing = needs[rank].per_sm == 0 && launch.present[sm] == 0 && !any_lacks_places;
    if (changes_nothing) continue;
    const bool is_blocked = launch.split < blocked_split;
    if (any_lacks_places) {
      allowed[rank].workers[sm] = is_blocked ? 0 : room.count(launch.block, launch.wanted[sm]);
    }
    const int wants_held = is_blocked ? 0 : held(launch, needs[rank], sm);
    const int holds = wants_held == 0 ? 0 : room.count(launch.block, wants_held);
    const bool lacks_places = launch.present[sm] < std::min(launch.wanted[sm], needs[rank].per_sm);
    const bool waits_for_empty_sm = lacks_places && holds > 0 && division < launch.split && !any_stays;
    if (waits_for_empty_sm && launch.is_seen && sm >= needs[rank].emptied_from) {
      blocked_split = std::max(blocked_split, launch.split);
    }
    room.take(launch.block, holds);
    any_lacks_places |= lacks_places;
    any_stays |= launch.present[sm] > 0 && holds > 0;
  }
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    is_open[rank] = allowed[rank].workers[sm] > 0 || room.fits(launches[rank].block) ? 1 : 0;
  }
}

/// By SM, the first one with the same result: the requests and workers of all launches are the same there, and the same
/// launches may have it emptied.
std::vector<std::size_t> representatives(const RequestsBySm& claims, std::span<const Need> needs) {
  std::vector<std::size_t> found(claims.sms());
  std::vector<std::size_t> last(claims.sms());  // by the first of its kind
  for (std::size_t sm = 0; sm < claims.sms(); ++sm) {
    const std::size_t first = claims.first_like(sm);
    const auto is_between = [&](const Need& need) {
      return last[first] < need.emptied_from && need.emptied_from <= sm;
    };
    if (first == sm || std::ranges::any_of(needs, is_between)) last[first] = sm;
    found[sm] = last[first];
  }
  return found;
}

}  // namespace

std::vector<ResidencyGrant> arbitrate(const Device& device, std::span<const ResidencyRequest> launches) {
  std::vector<ResidencyGrant> allowed;
  std::vector<Need> needs;
  for (const ResidencyRequest& launch : launches) {
    allowed.push_back({.workers = launch.wanted});
    needs.push_back({.per_sm = workers_per_sm(launch)});
  }
  const RequestsBySm claims(device, launches);
  find_spare_room(claims, needs);
  find_sms_to_empty(claims, needs);
  const std::vector<std::size_t> like = representatives(claims, needs);
  std::vector<char> is_open(claims.sms() * launches.size());  // by representative, and rank
  for (std::size_t sm = 0; sm < claims.sms(); ++sm) {
    const auto open_there = std::span(is_open).subspan(sm * launches.size(), launches.size());
    if (like[sm] == sm) share_out(RoomInRankOrder(SmRoom(device.per_sm)), sm, launches, needs, allowed, open_there);
  }
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    ResidencyGrant& each = allowed[rank];
    for (std::size_t sm = 0; sm < claims.sms(); ++sm) {
      each.workers[sm] = each.workers[like[sm]];
      each.open_sms += is_open[like[sm] * launches.size() + rank];
    }
  }
  return allowed;
}

}  // namespace gpushare
