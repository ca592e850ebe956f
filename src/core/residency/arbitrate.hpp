// SPDX-License-Identifier: Apache-2.0
// Enforces ranks among launches that have blocks on the GPU already. A block scheduler in hardware would give every
// free slot to the launch that ranks first; workers keep their slots. So where a launch lacks places, those that rank
// behind it get smaller quotas until it has its places.
//
// An SM's L1 cache is divided when the first block comes to it, and mostly it accepts no block that needs more shared
// memory before the last one has left (docs/results/simulator-accuracy.md). So where that blocks a launch, and no
// launch before it in rank stays, it is not enough to free places: all workers with a smaller split leave.
#pragma once

#include <span>
#include <vector>

#include "core/model/device.hpp"
#include "core/residency/residency_request.hpp"

namespace gpushare {

/// The grant of each launch. Launches in rank order.
std::vector<ResidencyGrant> arbitrate(const Device& device, std::span<const ResidencyRequest> launches);

}  // namespace gpushare
