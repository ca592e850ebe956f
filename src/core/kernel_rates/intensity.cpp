// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_rates/intensity.hpp"

#include "core/kernel_rates/launch_rate.hpp"

namespace gpushare {

Demand demand_alone(const Device& device, const Launch& launch) {
  const BlockCost& cost = launch.kernel.cost;
  const double blocks_per_ns = launch_rate_alone(device, launch);
  const double blocks_per_s = blocks_per_ns * 1e9;
  const double dram = device.off_sm.dram.bytes_per_second;
  Demand demand{.issue = blocks_per_ns * nanoseconds(cost.issue) / device.sms};
  if (dram > 0) demand.memory = blocks_per_s * static_cast<double>(cost.off_sm.count) / dram;
  if (cost.flops > 0 && device.flops_per_s > 0) {
    demand.flops = blocks_per_s * cost.flops / device.flops_per_s;
  }
  return demand;
}

}  // namespace gpushare
