// SPDX-License-Identifier: Apache-2.0
#include "core/engine/devices/whereabouts.hpp"

namespace gpushare {

void PlacedApplications::arrive(ApplicationId application, DeviceId device) {
  at(application).device = device;
  present_.push_back(application);
}

void PlacedApplications::move(ApplicationId application, Time until) {
  Whereabouts& place = at(application);
  moves_.emplace(until, Move{.application = application, .from = place.device});
  place.device = place.wanted;
  place.is_moving = true;
}

std::optional<Time> PlacedApplications::next_move_end() const {
  if (moves_.empty()) return std::nullopt;
  return moves_.begin()->first;
}

std::optional<PlacedApplications::Move> PlacedApplications::end_move(Time now) {
  if (next_move_end() != now) return std::nullopt;
  const Move move = moves_.extract(moves_.begin()).mapped();
  at(move.application).is_moving = false;
  return move;
}

std::vector<PresentApplication> PlacedApplications::present(const ApplicationStreams& streams,
                                                            const std::vector<double>& part_ended,
                                                            std::span<const ApplicationId> arrived) const {
  std::vector<PresentApplication> present;
  for (const ApplicationId id : present_) {
    const Whereabouts& place = places_[index(id)];
    const std::size_t given = streams.given(id);
    const bool is_under_way = given > 0 && !place.is_moving;
    present.push_back({.id = id,
                       .device = place.device,
                       .has_memory = place.has_memory,
                       .ended_operations = is_under_way ? given - 1 : given,
                       .part_ended = part_ended[index(id)],
                       .due_operations = is_under_way ? 1U + (place.next_is_announced ? 1U : 0U) : 0U});
  }
  for (const ApplicationId id : arrived) present.push_back({.id = id});
  return present;
}

}  // namespace gpushare
