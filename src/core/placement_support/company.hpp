// SPDX-License-Identifier: Apache-2.0
// What applications that share one device get done, by the contention model (kernel_rates/corun.hpp). Of the policy it
// assumes that launches run side by side on equal numbers of SMs, or on shared ones where that promises clearly more.
// An application is taken for its longest kernel.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/model/lru_cache.hpp"
#include "core/placement_support/work_alone.hpp"

namespace gpushare {

/// An application on a device. Times in nanoseconds from now on.
struct Companion {
  ApplicationId application{};
  Work work{};        ///< left on this device
  double comes = 0;   ///< when it can begin there
  double waited = 0;  ///< since its arrival
  double alone = 0;   ///< all of it, on the device on which that takes least
};

class Company {
 public:
  /// The sum of the companions' STP terms, alone / (waited + time until the end), with a little for an even division.
  /// They leave the device one by one.
  double worth(const PlacementDevice& on, std::span<const Companion> companions);

  /// The speed of each relative to alone, while all are there. Valid until the next call.
  const std::vector<double>& speeds(const PlacementDevice& on, std::span<const Companion> companions);

 private:
  LruCache<std::pair<const Workload*, std::vector<ApplicationId>>, std::vector<double>> known_{4096};
};

}  // namespace gpushare
