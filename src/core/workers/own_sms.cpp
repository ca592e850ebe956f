// SPDX-License-Identifier: Apache-2.0
#include "core/workers/own_sms.hpp"

#include <algorithm>
#include <span>

namespace gpushare {
namespace {

/// Who comes when so many are taken waits for those before to end: that is soon.
constexpr std::size_t most_of_all_sms = 4;

bool all_leave_soon(std::span<const RoomClaim> launches) {
  return std::ranges::all_of(launches, [](const RoomClaim& each) {
    return each.leaves_soon || std::ranges::all_of(each.present, [](int workers) { return workers == 0; });
  });
}

}  // namespace

void claim_own_sms(std::vector<RoomClaim>& launches) {
  if (launches.empty()) return;
  const std::size_t sms = launches.front().wanted.size();
  const std::size_t last_to_take = sms - sms / most_of_all_sms;
  std::size_t taken_from = sms;
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    RoomClaim& launch = launches[rank];
    const bool is_small = launch.unclaimed > 0 && launch.unclaimed < static_cast<std::int64_t>(sms);
    if (!launch.is_fleeting || !is_small || !all_leave_soon(std::span(launches).subspan(rank + 1))) continue;
    std::vector<int> own(sms, 0);
    std::int64_t places = 0;
    while (places < launch.unclaimed && taken_from > last_to_take) {
      --taken_from;
      places += own[taken_from] = launch.wanted[taken_from];
    }
    launch.wanted = std::move(own);
    launch.unclaimed = places;
  }
}

}  // namespace gpushare
