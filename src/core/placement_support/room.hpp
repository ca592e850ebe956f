// SPDX-License-Identifier: Apache-2.0
// The memory that applications have on each device, and the choice of a device for one that has none yet.
#pragma once

#include <functional>
#include <vector>

#include "core/engine/devices/placement.hpp"

namespace gpushare {

class Room {
 public:
  /// Counts the applications that have memory.
  explicit Room(const PlacementState& state);

  /// Can the device run the application, beside those that it has?
  bool fits(ApplicationId application, DeviceId device) const;
  void take(ApplicationId application, DeviceId device);

 private:
  std::int64_t bytes_of(ApplicationId application, DeviceId device) const;

  std::span<const PlacementDevice> devices_;
  std::vector<std::int64_t> free_;  // by DeviceId
};

/// Keeps applications that have memory where they are. Any other one goes to the device with the lowest cost among
/// those that have room for it, the first of equal ones; where none has, it stays where it waits, and one that has just
/// arrived waits at the lowest cost. `placed` is told of each application in their order.
std::vector<DeviceId> place_at_lowest_cost(const PlacementState& state, const std::function<double(DeviceId)>& cost,
                                           const std::function<void(const PresentApplication&, DeviceId)>& placed);

}  // namespace gpushare
