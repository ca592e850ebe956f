// SPDX-License-Identifier: Apache-2.0
#include "core/workers/shared_room.hpp"

#include <algorithm>
#include <utility>

namespace gpushare {

const std::vector<Allowance>& SharedRoom::share_out(const Device& device, std::vector<RoomClaim> launches) {
  // More tasks than the GPU has places make no difference, and their number changes all the time.
  const std::int64_t places = std::int64_t{device.sms} * device.per_sm.blocks;
  for (RoomClaim& launch : launches) launch.unclaimed = std::min(launch.unclaimed, places);
  if (launches != launches_) {
    launches_ = std::move(launches);
    allowed_ = make_room(device, launches_);
  }
  return allowed_;
}

}  // namespace gpushare
