// SPDX-License-Identifier: Apache-2.0
#include "core/residency/places_by_rank.hpp"

#include <algorithm>

namespace gpushare {

PlacesByRank::PlacesByRank(const RequestsBySm& claims, std::span<const Need> needs)
    : claims_(claims), places_(claims.sms() * claims.size()) {
  for (std::size_t sm = 0; sm < claims.sms(); ++sm) {
    if (claims.first_like(sm) == sm) count(needs, sm);
  }
}

void PlacesByRank::count(std::span<const Need> needs, std::size_t sm) {
  const Bytes division = divided(claims_.launches, sm);
  SmRoom room(claims_.device.per_sm);
  bool is_occupied = false;
  for (std::size_t rank = 0; rank < claims_.size(); ++rank) {
    const ResidencyRequest& launch = claims_.launches[rank];
    const bool may_enter = !is_occupied || launch.split <= division;
    const int fits = room.count(launch.block, launch.wanted[sm]) - launch.present[sm];
    places_[sm * claims_.size() + rank] = may_enter ? std::max(0, fits) : 0;
    room.take(launch.block, room.count(launch.block, held(launch, needs[rank], sm)));
    is_occupied |= launch.present[sm] > 0;
  }
}

}  // namespace gpushare
