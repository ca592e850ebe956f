// SPDX-License-Identifier: Apache-2.0
#include "core/workers/own_sms.hpp"

#include <algorithm>
#include <span>

namespace gpushare {
namespace {

constexpr std::size_t own_part = 4;  // of all SMs at most a quarter is emptied

bool is_small(const RoomClaim& launch) {
  return launch.unclaimed > 0 && launch.unclaimed < static_cast<std::int64_t>(launch.wanted.size());
}

bool is_there(const RoomClaim& launch, std::size_t sm) { return launch.present[sm] > 0; }

/// Where the blocks of one that nobody sees are, nobody could say.
bool leaves_soon(const RoomClaim& launch) {
  if (!launch.is_seen) return launch.unclaimed == 0;
  return launch.leaves_soon || std::ranges::all_of(launch.present, [](int workers) { return workers == 0; });
}

/// Would SMs on which nobody is hold it? Then nobody need leave.
bool finds_idle_sms(std::span<const RoomClaim> launches, const RoomClaim& launch) {
  std::int64_t places = 0;
  for (std::size_t sm = 0; sm < launch.wanted.size(); ++sm) {
    const bool is_idle = std::ranges::none_of(launches, [&](const RoomClaim& each) { return is_there(each, sm); });
    if (is_idle) places += launch.wanted[sm];
  }
  return places >= launch.unclaimed;
}

/// Takes SMs one by one, from the last on.
class OwnSms {
 public:
  explicit OwnSms(std::size_t sms) : next_(sms), left_(std::max<std::size_t>(1, sms / own_part)) {}

  void give(RoomClaim& launch, std::span<const RoomClaim> before) {
    std::vector<int> own(launch.wanted.size());
    std::int64_t places = 0;
    std::size_t sm = next_;
    std::size_t left = left_;
    while (places < launch.unclaimed && left > 0 && sm > 0) {
      --sm;
      const auto stays = [&](const RoomClaim& each) { return is_there(each, sm); };
      if (launch.wanted[sm] == 0 || std::ranges::any_of(before, stays)) continue;
      places += own[sm] = launch.wanted[sm];
      --left;
    }
    const bool are_too_few = places < launch.unclaimed && left > 0;
    if (are_too_few) return;
    launch.wanted = std::move(own);
    launch.unclaimed = places;
    next_ = sm;
    left_ = left;
  }

 private:
  std::size_t next_;  // those from here on are given away, or can be no one's
  std::size_t left_;
};

}  // namespace

void claim_own_sms(std::vector<RoomClaim>& launches) {
  if (launches.empty()) return;
  OwnSms sms(launches.front().wanted.size());
  for (std::size_t rank = 0; rank < launches.size(); ++rank) {
    const std::span<const RoomClaim> all(launches);
    if (!launches[rank].is_fleeting || !is_small(launches[rank])) continue;
    if (!std::ranges::all_of(all.subspan(rank + 1), leaves_soon) || finds_idle_sms(all, launches[rank])) continue;
    sms.give(launches[rank], all.first(rank));
  }
}

}  // namespace gpushare
