// SPDX-License-Identifier: Apache-2.0
// The seam that decides on which device each application runs, as a policy decides what of a device each launch has. A
// placement has no clock and no GPU: equal states give equal decisions.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/model/workload.hpp"

namespace gpushare {

/// A device as placements know it.
struct PlacementDevice {
  const Device* device = nullptr;
  const Workload* workload = nullptr;  ///< with the kernels as they are on this device; shared by equal devices only
  std::vector<bool> can_run;           ///< by ApplicationId: do its memory and its blocks fit the device?
};

/// Each device with its workload. Throws InvalidInput for an application that none of them can run.
std::vector<PlacementDevice> placement_devices(std::span<const Device* const> devices,
                                               std::span<const Workload* const> workloads);

/// An application that has arrived and not ended.
struct PresentApplication {
  ApplicationId id{};
  std::optional<DeviceId> device{};  ///< none: it has just arrived
  /// Has it been started? If not, another device costs nothing.
  bool has_memory = false;
  std::size_t ended_operations = 0;
  double part_ended = 0;           ///< of the next operation
  std::size_t due_operations = 0;  ///< that its device has to run before it can leave: the next one, and one announced
};

struct PlacementState {
  Time now{};
  std::span<const PlacementDevice> devices;
  std::vector<PresentApplication> present;  ///< in order of arrival
};

class Placement {
 public:
  virtual ~Placement() = default;

  /// A device for every present application, in their order; one that can run it. Called when applications have
  /// arrived, all of one moment together, or one has ended. An application that has memory is moved to another device
  /// after its due operations, if its memory is free there by then, and runs again when its memory has been copied.
  virtual std::vector<DeviceId> decide(const PlacementState& state) = 0;
};

/// All that a run on one device needs.
class OnFirstDevice : public Placement {
 public:
  std::vector<DeviceId> decide(const PlacementState& state) override {
    return std::vector<DeviceId>(state.present.size());
  }
};

}  // namespace gpushare
