// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "core/workers/rank_room.hpp"

namespace gpushare {

/// The request of an admitted launch, which runs in its original form on reserved SMs. The places of its blocks are
/// unknown; they are assumed to fill the last SMs, where policies reserve SMs. It requests no more than that.
inline RoomClaim on_kept_room(RoomClaim claim) {
  claim.present.assign(claim.wanted.size(), 0);
  for (std::size_t sm = claim.wanted.size(); sm-- > 0;) {
    claim.present[sm] = static_cast<int>(std::min<std::int64_t>(claim.wanted[sm], claim.unclaimed));
    claim.unclaimed -= claim.present[sm];
  }
  claim.wanted = claim.present;
  claim.unclaimed = 0;
  claim.is_seen = true;
  return claim;
}

}  // namespace gpushare
