// SPDX-License-Identifier: Apache-2.0
// What all launches want and have, SM by SM. Most SMs are like others: to share out one takes some hundred nanoseconds,
// and room is shared out at every plan and every look.
#pragma once

#include <span>
#include <vector>

#include "core/workers/rank_room.hpp"

namespace gpushare {

class ClaimsBySm {
 public:
  ClaimsBySm(const Device& device, std::span<const RoomClaim> launches);

  std::size_t sms() const { return static_cast<std::size_t>(device.sms); }
  std::size_t size() const { return launches.size(); }

  /// An SM up to this one on which everybody wants and has the same.
  std::size_t first_like(std::size_t sm) const { return first_like_[sm]; }

  /// One place on every SM is much more than a launch of a few blocks needs, if it finds some that nobody else wants.
  bool is_small(std::size_t rank) const { return launches[rank].unclaimed < device.sms; }
  bool is_any_small() const;

  const Device& device;
  const std::span<const RoomClaim> launches;

 private:
  std::vector<std::uint32_t> hashes_by_sm() const;
  bool are_alike(std::size_t one, std::size_t other) const;

  std::vector<std::size_t> first_like_;
};

}  // namespace gpushare
