// SPDX-License-Identifier: Apache-2.0
// The requests and the workers of all launches, SM by SM. Most SMs are alike: sharing out one takes some hundred
// nanoseconds, and residency is shared out at every plan and every poll.
#pragma once

#include <span>
#include <vector>

#include "core/residency/residency_request.hpp"

namespace gpushare {

class RequestsBySm {
 public:
  RequestsBySm(const Device& device, std::span<const ResidencyRequest> launches);

  std::size_t sms() const { return static_cast<std::size_t>(device.sms); }
  std::size_t size() const { return launches.size(); }

  /// The first SM with the same requests and workers of all launches; this one if there is none before it.
  std::size_t first_like(std::size_t sm) const { return first_like_[sm]; }

  /// One place on every SM is much more than a launch of a few blocks needs, if it finds unrequested places on some.
  bool is_small(std::size_t rank) const { return launches[rank].unclaimed < device.sms; }
  bool is_any_small() const;

  const Device& device;
  const std::span<const ResidencyRequest> launches;

 private:
  std::vector<std::uint32_t> hashes_by_sm() const;
  bool are_alike(std::size_t one, std::size_t other) const;

  std::vector<std::size_t> first_like_;
};

}  // namespace gpushare
