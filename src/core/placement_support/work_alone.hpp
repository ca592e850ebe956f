// SPDX-License-Identifier: Apache-2.0
// How long applications take when they have a device to themselves, by the profiles of their kernels.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/engine/devices/placement.hpp"

namespace gpushare {

/// Times in nanoseconds.
struct Work {
  double total = 0;
  double due = 0;           ///< the part of it that it has to do before it can leave
  double launch_share = 0;  ///< of the whole application: the share of its time in which launches are on the SMs
  const Launch* longest = nullptr;  ///< a launch of the kernel that takes longest in all; nullptr where there is none
};

/// Remembers what it has computed for a workload, so there is one for every placement of a run.
class WorkAlone {
 public:
  /// What the application has left to do on this device.
  const Work& left(const PlacementDevice& on, const PresentApplication& application);
  /// All of it.
  double total(const PlacementDevice& on, ApplicationId application);

 private:
  struct Operations {
    std::vector<double> total_from;  // by operation: from there to the end
    Work left{};
  };

  Operations& operations_of(const PlacementDevice& on, ApplicationId application);
  double launch_time(const PlacementDevice& on, const Launch& launch);

  std::map<std::pair<const Workload*, ApplicationId>, Operations> known_;
  std::map<std::tuple<const Workload*, BlockNeeds, BlockCost, std::int64_t>, double> launch_times_;
};

}  // namespace gpushare
