// SPDX-License-Identifier: Apache-2.0
#include "core/workers/look_room.hpp"

#include <algorithm>

namespace gpushare {

std::optional<RoomClaim> claim_of_look(const Device& device, const BlockNeeds& needs,
                                       std::span<const RoomClaim> claims) {
  for (auto sm = static_cast<std::size_t>(device.sms); sm-- > 0;) {
    if (std::ranges::any_of(claims, [sm](const RoomClaim& claim) { return claim.wanted[sm] == 1; })) continue;
    std::vector<int> wanted(static_cast<std::size_t>(device.sms), 0);
    wanted[sm] = 1;
    return RoomClaim{.block = footprint(device, needs),
                     .wanted = wanted,
                     .present = std::vector<int>(wanted.size(), 0),
                     .unclaimed = 1};
  }
  return std::nullopt;
}

}  // namespace gpushare
