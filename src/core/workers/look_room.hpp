// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "core/workers/rank_room.hpp"

namespace gpushare {

/// A request, for make_room(), of the block that reads the workers' tables. The block runs for microseconds, and its
/// place is reserved for the next one. One SM is enough, and it must not be the last place of any launch; policies
/// sample newcomers on the first SM. Nothing where there is no such SM.
std::optional<RoomClaim> claim_of_look(const Device& device, const BlockNeeds& needs,
                                       std::span<const RoomClaim> claims);

}  // namespace gpushare
