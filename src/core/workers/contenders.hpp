// SPDX-License-Identifier: Apache-2.0
// Which launches room has to be shared out among. Where a hundred wait, most can only wait: to share out room among all
// of them, at every plan and every look, would take longer than a short launch does.
#pragma once

#include <span>
#include <vector>

namespace gpushare {

/// A launch that might have a use for room.
struct RoomSeeker {
  bool has_begun = false;
  std::span<const int> wanted{};  ///< workers, by SM
};

/// The places in `ranked` of those who matter, in rank order: who has begun; of the others the first ones that want
/// anything, `most` less those who have begun, but at least `least`; and whoever wants an SM for which none of these
/// waits.
std::vector<std::size_t> contenders(std::span<const RoomSeeker> ranked, std::size_t most, std::size_t least);

}  // namespace gpushare
