// SPDX-License-Identifier: Apache-2.0
#include "core/residency/residency_arbiter.hpp"

#include <algorithm>
#include <utility>

#include "core/residency/dedicated_sms.hpp"
#include "core/residency/poll_place.hpp"

namespace gpushare {
namespace {

/// The least number of waiting launches that take part, however many have begun.
constexpr std::size_t least_waiting = 4;

}  // namespace

ResidencyRequest on_reserved_sms(ResidencyRequest request) {
  request.present.assign(request.wanted.size(), 0);
  for (std::size_t sm = request.wanted.size(); sm-- > 0;) {
    request.present[sm] = static_cast<int>(std::min<std::int64_t>(request.wanted[sm], request.unclaimed));
    request.unclaimed -= request.present[sm];
  }
  request.wanted = request.present;
  request.unclaimed = 0;
  request.is_seen = true;
  return request;
}

std::vector<std::size_t> ResidencyArbiter::participants(std::span<const RankedLaunch> ranked) {
  return contenders(ranked, most_on_hardware, least_waiting);
}

std::span<const ResidencyGrant> ResidencyArbiter::share_out(std::vector<ResidencyRequest> ranked,
                                                            const std::optional<BlockNeeds>& poll) {
  request_dedicated_sms(ranked);
  const std::optional<ResidencyRequest> place = poll ? request_of_poll(device_, *poll, ranked) : std::nullopt;
  reserves_place_for_poll_ = place.has_value();
  if (place) ranked.insert(ranked.begin(), *place);
  // More tasks than the GPU has places make no difference, and their number changes all the time.
  const std::int64_t places = std::int64_t{device_.sms} * device_.per_sm.blocks;
  for (ResidencyRequest& request : ranked) request.unclaimed = std::min(request.unclaimed, places);
  if (ranked != requests_) {
    requests_ = std::move(ranked);
    grants_ = arbitrate(device_, requests_);
  }
  return std::span(grants_).subspan(place ? 1 : 0);
}

}  // namespace gpushare
