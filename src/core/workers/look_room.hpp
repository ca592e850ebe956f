// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "core/workers/rank_room.hpp"

namespace gpushare {

/// Room for the block that reads the workers' tables, for make_room(). The block is there for microseconds, and its
/// place is kept for the next. One SM is enough, and it must not be the last place of anybody; policies try newcomers
/// on the first SM. Nothing where there is no such SM.
std::optional<RoomClaim> claim_of_look(const Device& device, const BlockNeeds& needs,
                                       std::span<const RoomClaim> claims);

}  // namespace gpushare
