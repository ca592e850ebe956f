// SPDX-License-Identifier: Apache-2.0
// Caches the last result of make_room(). Residency is shared out after every plan and every poll, and most of them
// change nothing that matters: the same requests, with the same workers in the same places.
#pragma once

#include <span>
#include <vector>

#include "core/workers/rank_room.hpp"

namespace gpushare {

class SharedRoom {
 public:
  /// As make_room(). Valid until the next call.
  const std::vector<Allowance>& share_out(const Device& device, std::vector<RoomClaim> launches);

 private:
  std::vector<RoomClaim> launches_;
  std::vector<Allowance> allowed_;
};

}  // namespace gpushare
