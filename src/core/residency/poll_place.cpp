// SPDX-License-Identifier: Apache-2.0
#include "core/residency/poll_place.hpp"

#include <algorithm>

namespace gpushare {

std::optional<ResidencyRequest> request_of_poll(const Device& device, const BlockNeeds& needs,
                                                std::span<const ResidencyRequest> claims) {
  for (auto sm = static_cast<std::size_t>(device.sms); sm-- > 0;) {
    if (std::ranges::any_of(claims, [sm](const ResidencyRequest& claim) { return claim.wanted[sm] == 1; })) continue;
    std::vector<int> wanted(static_cast<std::size_t>(device.sms), 0);
    wanted[sm] = 1;
    return ResidencyRequest{.block = footprint(device, needs),
                            .wanted = wanted,
                            .present = std::vector<int>(wanted.size(), 0),
                            .unclaimed = 1};
  }
  return std::nullopt;
}

}  // namespace gpushare
