// SPDX-License-Identifier: Apache-2.0
// A placement for devices between which applications cannot be moved, as real ones are: their data is on one of them.
#pragma once

#include <memory>

#include "core/engine/devices/placement.hpp"

namespace gpushare {

class WithoutMoves : public Placement {
 public:
  explicit WithoutMoves(std::unique_ptr<Placement> placement) : placement_(std::move(placement)) {}

  /// To the placement, all operations of an application with memory are due where it is.
  std::vector<DeviceId> decide(const PlacementState& state) override {
    PlacementState known = state;
    for (PresentApplication& each : known.present) {
      if (!each.has_memory) continue;
      const Workload& workload = *state.devices[index(*each.device)].workload;
      each.due_operations = workload.applications[index(each.id)].operations.size() - each.ended_operations;
    }
    std::vector<DeviceId> devices = placement_->decide(known);
    for (std::size_t place = 0; place < devices.size(); ++place) {
      if (state.present[place].has_memory) devices[place] = *state.present[place].device;
    }
    return devices;
  }

 private:
  std::unique_ptr<Placement> placement_;
};

}  // namespace gpushare
