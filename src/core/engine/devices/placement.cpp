// SPDX-License-Identifier: Apache-2.0
#include "core/engine/devices/placement.hpp"

#include <algorithm>

#include "core/model/errors.hpp"

namespace gpushare {

std::vector<PlacementDevice> placement_devices(std::span<const Device* const> devices,
                                               std::span<const Workload* const> workloads) {
  const std::size_t applications = workloads.front()->applications.size();
  std::vector<PlacementDevice> known;
  std::vector<std::string> complaints(applications);  // of the first device that cannot run it
  for (std::size_t device = 0; device < devices.size(); ++device) {
    require_distinct_applications(*workloads[device]);
    known.push_back(
        {.device = devices[device], .workload = workloads[device], .can_run = std::vector<bool>(applications, true)});
    for (std::size_t id = 0; id < applications; ++id) {
      try {
        validate(workloads[device]->applications[id], *devices[device]);
      } catch (const InvalidInput& error) {
        known[device].can_run[id] = false;
        if (complaints[id].empty()) complaints[id] = error.what();
      }
    }
  }
  for (std::size_t id = 0; id < applications; ++id) {
    const bool can_run = std::ranges::any_of(known, [id](const PlacementDevice& each) { return each.can_run[id]; });
    require(can_run, complaints[id] + (known.size() > 1 ? ", and none of the other devices can run it" : ""));
  }
  return known;
}

}  // namespace gpushare
