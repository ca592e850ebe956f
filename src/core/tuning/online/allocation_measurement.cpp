// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/allocation_measurement.hpp"

#include <algorithm>

namespace gpushare {

double AllocationMeasurement::rate(Time now, std::span<const BlockProgress> progress, std::size_t kernel,
                                   const SmAllocation& allocation) {
  block_time_ = std::max(block_time_, window_.block_time(progress[kernel], kernel));
  return window_.rate(now, progress[kernel], kernel, blocks_in(allocation, kernel));
}

std::vector<double> AllocationMeasurement::rates(Time now, std::span<const BlockProgress> progress,
                                                 const SmAllocation& allocation) {
  block_time_ = 0;
  std::vector<double> rates;
  for (std::size_t kernel = 0; kernel < allocation.front().blocks.size(); ++kernel) {
    rates.push_back(rate(now, progress, kernel, allocation));
  }
  return rates;
}

}  // namespace gpushare
