// SPDX-License-Identifier: Apache-2.0
// The first device with enough free memory, in the order in which devices were named.
//
// Suits: to keep GPUs empty, so that they can sleep. Fails: applications crowd on the first device while others idle.
#include "core/placement_support/room.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {
namespace {

class FirstFit : public Placement {
 public:
  std::vector<DeviceId> decide(const PlacementState& state) override {
    return place_at_lowest_cost(state, [](DeviceId) { return 0.0; }, [](const PresentApplication&, DeviceId) {});
  }
};

}  // namespace

std::unique_ptr<Placement> make_first_fit(const PolicyOptions& /*options*/) { return std::make_unique<FirstFit>(); }

}  // namespace gpushare
