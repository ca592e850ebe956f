// SPDX-License-Identifier: Apache-2.0
#include "core/placement_support/room.hpp"

#include <limits>

namespace gpushare {
namespace {

std::optional<DeviceId> cheapest(std::size_t devices, const std::function<bool(DeviceId)>& may_be,
                                 const std::function<double(DeviceId)>& cost) {
  std::optional<DeviceId> best;
  for (std::size_t device = 0; device < devices; ++device) {
    const auto id = static_cast<DeviceId>(device);
    if (may_be(id) && (!best || cost(id) < cost(*best))) best = id;
  }
  return best;
}

}  // namespace

Room::Room(const PlacementState& state) : devices_(state.devices) {
  for (const PlacementDevice& each : devices_) {
    const std::int64_t memory = each.device->memory.count;
    free_.push_back(memory > 0 ? memory : std::numeric_limits<std::int64_t>::max());
  }
  for (const PresentApplication& each : state.present) {
    if (each.has_memory) take(each.id, *each.device);
  }
}

std::int64_t Room::bytes_of(ApplicationId application, DeviceId device) const {
  const PlacementDevice& on = devices_[index(device)];
  return on.device->memory.count > 0 ? on.workload->applications[index(application)].memory.count : 0;
}

bool Room::fits(ApplicationId application, DeviceId device) const {
  return devices_[index(device)].can_run[index(application)] && bytes_of(application, device) <= free_[index(device)];
}

void Room::take(ApplicationId application, DeviceId device) { free_[index(device)] -= bytes_of(application, device); }

std::vector<DeviceId> place_at_lowest_cost(const PlacementState& state, const std::function<double(DeviceId)>& cost,
                                           const std::function<void(const PresentApplication&, DeviceId)>& placed) {
  Room room(state);
  std::vector<DeviceId> devices;
  for (const PresentApplication& each : state.present) {
    std::optional<DeviceId> device = each.device;
    if (!each.has_memory) {
      const auto found = cheapest(state.devices.size(), [&](DeviceId id) { return room.fits(each.id, id); }, cost);
      if (found) device = found;
      const auto can_run = [&](DeviceId id) { return state.devices[index(id)].can_run[index(each.id)]; };
      if (!device) device = cheapest(state.devices.size(), can_run, cost);
      room.take(each.id, *device);
    }
    devices.push_back(*device);
    placed(each, *device);
  }
  return devices;
}

}  // namespace gpushare
