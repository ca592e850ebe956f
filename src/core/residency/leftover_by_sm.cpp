// SPDX-License-Identifier: Apache-2.0
#include "core/residency/leftover_by_sm.hpp"

#include <algorithm>

namespace gpushare {

LeftoverBySm::LeftoverBySm(const RequestsBySm& claims, std::span<const Need> needs) : entry_of_(claims.sms()) {
  for (std::size_t sm = 0; sm < claims.sms(); ++sm) {
    const std::size_t like = claims.first_like(sm);
    if (like < sm) {
      entry_of_[sm] = entry_of_[like];
      continue;
    }
    Leftover leftover{.room = SmRoom(claims.device.per_sm)};
    for (std::size_t rank = 0; rank < claims.size(); ++rank) {
      const ResidencyRequest& launch = claims.launches[rank];
      leftover.take(launch, claims.is_small(rank) ? launch.present[sm] : held(launch, needs[rank], sm));
    }
    entry_of_[sm] = add(leftover);
  }
}

std::size_t LeftoverBySm::add(const Leftover& leftover) {
  entries_.push_back({.leftover = leftover, .without_them = entries_.size()});
  return entries_.size() - 1;
}

void LeftoverBySm::select(const ResidencyRequest& launch) {
  launch_ = &launch;
  ++selection_;
}

LeftoverBySm::SharedLeftover& LeftoverBySm::for_launch(std::size_t number) {
  SharedLeftover& entry = entries_[number];
  if (entry.selection == selection_) return entry;
  entry.selection = selection_;
  entry.places = not_counted;
  entry.taken = 0;
  entry.without_them = number;
  return entry;
}

int LeftoverBySm::places(std::size_t sm) {
  SharedLeftover& entry = for_launch(entry_of_[sm]);
  if (entry.places == not_counted) entry.places = entry.leftover.places(*launch_, sm);
  return entry.places;
}

void LeftoverBySm::take(std::size_t sm, int blocks) {
  SharedLeftover& before = for_launch(entry_of_[sm]);
  if (before.taken == blocks) {
    entry_of_[sm] = before.without_them;
    return;
  }
  before.taken = blocks;
  before.without_them = entries_.size();
  Leftover leftover = before.leftover;
  leftover.take(*launch_, blocks);
  entry_of_[sm] = add(leftover);  // `before` may have moved
}

void LeftoverBySm::Leftover::take(const ResidencyRequest& launch, int blocks) {
  if (blocks == 0) return;
  room.take(launch.block, blocks);
  narrowest = std::min(narrowest, launch.split);
}

/// For a launch that has blocks there.
int LeftoverBySm::Leftover::places(const ResidencyRequest& launch, std::size_t sm) const {
  if (narrowest < launch.split) return 0;
  if (launch.present[sm] == 0) return room.count(launch.block, launch.wanted[sm]);
  SmRoom beside = room;
  beside.give_back(launch.block, launch.present[sm]);
  return beside.count(launch.block, launch.wanted[sm]);
}

}  // namespace gpushare
