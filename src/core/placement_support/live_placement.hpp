// SPDX-License-Identifier: Apache-2.0
// The choice of a device for an application of which little is known: it has just come, and it is not known what it
// will submit. Every application is taken for endless repetition of its first launch, and for as long as any other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/workload.hpp"

namespace gpushare {

struct LiveApplication {
  std::string name;
  Bytes memory{};
  std::optional<DeviceId> device{};  ///< none: it is to be placed
  /// As it is on each device, none where it cannot run; empty where no launch is known.
  std::vector<std::optional<Launch>> first_launch{};
};

/// A device for each of the applications; those that have one stay. A placement that goes by kernels gives way to
/// least-loaded unless all of them have profiles. Throws InvalidInput where no device has room for one, and for an
/// unknown placement.
std::vector<DeviceId> place_live(std::span<const Device* const> devices, std::span<const LiveApplication> applications,
                                 std::string_view placement);

}  // namespace gpushare
