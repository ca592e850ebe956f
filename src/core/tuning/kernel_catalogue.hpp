// SPDX-License-Identifier: Apache-2.0
// The kernels that a policy has met, numbered, each with its rate alone: a kernel comes back with every launch, and
// what is known of it and of its co-run sets is not found out again.
#pragma once

#include <memory>
#include <string>
#include <tuple>

#include "core/model/device.hpp"
#include "core/model/kernel.hpp"
#include "core/model/lru_cache.hpp"

namespace gpushare {

struct CatalogueEntry {
  int number = 0;
  Kernel kernel;
  double rate_alone = 0;  ///< blocks per nanosecond on the whole device; 0: not known, or not yet
};

class KernelCatalogue {
 public:
  /// Kernels that were not asked for in a long time are dropped. One that comes back gets a new number.
  std::shared_ptr<CatalogueEntry> find(const Device& device, const Kernel& kernel);

 private:
  using Key = std::tuple<std::string, BlockNeeds, BlockCost, bool>;
  LruCache<Key, std::shared_ptr<CatalogueEntry>> kernels_{4096};
  int numbers_used_ = 0;
};

}  // namespace gpushare
