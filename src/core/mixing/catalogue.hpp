// SPDX-License-Identifier: Apache-2.0
// The kernels that a policy has met, numbered, each with its rate alone. A kernel comes back with every launch; what is
// known of it, and of the company it was in, should not be found out again.
#pragma once

#include <string>
#include <tuple>

#include "core/device.hpp"
#include "core/kernel.hpp"
#include "core/recent_map.hpp"

namespace gpushare {

struct CataloguedKernel {
  int number = 0;
  Kernel kernel;
  double rate_alone = 0;  ///< blocks per nanosecond on the whole device; 0: not known, or not yet
};

class Catalogue {
 public:
  /// The entry stays where it is until most_kernels others have been asked for. One that comes back after that has a
  /// number that nobody had.
  CataloguedKernel& of(const Device& device, const Kernel& kernel);

 private:
  using Key = std::tuple<std::string, int, int, std::int64_t, std::int64_t, std::int64_t, bool>;

  static constexpr std::size_t most_kernels = 4096;

  RecentMap<Key, CataloguedKernel> kernels_{most_kernels};
  int met_ = 0;  // kernels, and how often those that had been forgotten
};

}  // namespace gpushare
