// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/intensity.hpp"

#include "core/predictors/corun.hpp"

namespace gpushare {

Demand demand_alone(const Device& device, const Kernel& kernel) {
  const double blocks_per_ns = rate_alone(device, kernel);
  const double blocks_per_s = blocks_per_ns * 1e9;
  const double dram = device.off_sm.dram.bytes_per_second;
  Demand demand{.issue = blocks_per_ns * nanoseconds(kernel.cost.issue) / device.sms};
  if (dram > 0) demand.memory = blocks_per_s * static_cast<double>(kernel.cost.off_sm.count) / dram;
  if (kernel.cost.flops > 0 && device.flops_per_s > 0) {
    demand.flops = blocks_per_s * kernel.cost.flops / device.flops_per_s;
  }
  return demand;
}

}  // namespace gpushare
