// SPDX-License-Identifier: Apache-2.0
#include "core/residency/requests_by_sm.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// With more kinds of SMs than this, most SMs differ from all others.
constexpr std::size_t most_kinds = 16;

}  // namespace

RequestsBySm::RequestsBySm(const Device& device, std::span<const ResidencyRequest> launches)
    : device(device), launches(launches), first_like_(sms()) {
  const std::vector<std::uint32_t> hashes = hashes_by_sm();
  std::vector<std::size_t> kinds;
  for (std::size_t sm = 0; sm < sms(); ++sm) {
    const auto is_like = [&](std::size_t other) { return hashes[other] == hashes[sm] && are_alike(other, sm); };
    const auto like = std::ranges::find_if(kinds, is_like);
    first_like_[sm] = like == kinds.end() ? sm : *like;
    if (like == kinds.end() && kinds.size() < most_kinds) kinds.push_back(sm);
  }
}

bool RequestsBySm::is_any_small() const {
  return std::ranges::any_of(launches, [this](const ResidencyRequest& each) { return each.unclaimed < device.sms; });
}

std::vector<std::uint32_t> RequestsBySm::hashes_by_sm() const {
  std::vector<std::uint32_t> hashes(sms());
  for (const ResidencyRequest& launch : launches) {
    for (std::size_t sm = 0; sm < sms(); ++sm) {
      hashes[sm] = 31 * hashes[sm] + static_cast<std::uint32_t>((launch.wanted[sm] << 8) + launch.present[sm]);
    }
  }
  return hashes;
}

bool RequestsBySm::are_alike(std::size_t one, std::size_t other) const {
  return std::ranges::all_of(launches, [&](const ResidencyRequest& launch) {
    return launch.wanted[one] == launch.wanted[other] && launch.present[one] == launch.present[other];
  });
}

}  // namespace gpushare
