// SPDX-License-Identifier: Apache-2.0
// Kernels that want different things of an SM: one that issues all the time, one that waits for memory.
#pragma once

#include "core/model/residency.hpp"
#include "core/tuning/allocation/sm_allocation.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare::test {

inline Device mixing_device(int sms = 8) {
  Device device = h100_like();
  device.sms = sms;
  device.off_sm = {.llc = {5.5e12 / 132 * sms}, .dram = {3.35e12 / 132 * sms}, .delay = {.linear = 0.45}};
  return device;
}

inline Kernel issuing_kernel(std::string name = "issues") {
  return {.name = std::move(name),
          .needs = {.threads = 256, .registers_per_thread = 32},
          .cost = {.latency = Duration(20'000), .issue = Duration(6'000)}};
}

/// 132 SMs full of it ask for 4 TB/s.
inline Kernel streaming_kernel(std::string name = "streams") {
  return {
      .name = std::move(name),
      .needs = {.threads = 256, .registers_per_thread = 32},
      .cost = {.latency = Duration(2'000), .issue = Duration(100), .off_sm = Bytes{12'288}, .memory = Duration(1'500)}};
}

inline Contender contender_of(const Device& device, const Kernel& kernel, double weight = 1, double min_speed = 0) {
  return {.kernel = &kernel,
          .max_residency = max_residency(device, kernel.needs),
          .weight = weight,
          .min_speed = min_speed};
}

}  // namespace gpushare::test
