// SPDX-License-Identifier: Apache-2.0
// The device whose applications have the least left to do, by their time alone.
//
// Suits: applications that gain nothing from one another's company. Fails: it puts two that need the same together, and
// never moves any.
#include "core/placement_support/room.hpp"
#include "core/placement_support/work_alone.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {
namespace {

class LeastLoaded : public Placement {
 public:
  std::vector<DeviceId> decide(const PlacementState& state) override {
    std::vector<double> load(state.devices.size(), 0.0);
    const auto add = [&](const PresentApplication& each, DeviceId device) {
      load[index(device)] += work_.left(state.devices[index(device)], each).total;
    };
    // Those that are there count before any other is placed.
    for (const PresentApplication& each : state.present) {
      if (each.has_memory) add(each, *each.device);
    }
    return place_at_lowest_cost(
        state, [&](DeviceId device) { return load[index(device)]; },
        [&](const PresentApplication& each, DeviceId device) {
          if (!each.has_memory) add(each, device);
        });
  }

 private:
  WorkAlone work_;
};

}  // namespace

std::unique_ptr<Placement> make_least_loaded(const PolicyOptions& /*options*/) {
  return std::make_unique<LeastLoaded>();
}

}  // namespace gpushare
