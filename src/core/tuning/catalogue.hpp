// SPDX-License-Identifier: Apache-2.0
// The kernels that a policy has met, numbered, each with its rate alone. A kernel comes back with every launch; what is
// known of it, and of the company it was in, should not be found out again.
#pragma once

#include <memory>
#include <string>
#include <tuple>

#include "core/model/device.hpp"
#include "core/model/kernel.hpp"
#include "core/model/recent_map.hpp"

namespace gpushare {

struct CataloguedKernel {
  int number = 0;
  Kernel kernel;
  double rate_alone = 0;  ///< blocks per nanosecond on the whole device; 0: not known, or not yet
};

class Catalogue {
 public:
  /// Kernels of which nobody has asked for long are forgotten. One that comes back has a number that nobody had.
  std::shared_ptr<CataloguedKernel> of(const Device& device, const Kernel& kernel);

 private:
  using Key = std::tuple<std::string, BlockNeeds, BlockCost, bool>;
  RecentMap<Key, std::shared_ptr<CataloguedKernel>> kernels_{4096};
  int met_ = 0;  // kernels, and how often those that had been forgotten
};

}  // namespace gpushare
