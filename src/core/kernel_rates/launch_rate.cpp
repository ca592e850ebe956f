// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_rates/launch_rate.hpp"

#include <algorithm>
#include <cmath>

#include "core/model/residency.hpp"

namespace gpushare {

std::vector<SmGroup> first_round(const Launch& launch, int max_residency, int sms, std::size_t kernel,
                                 std::size_t kernels) {
  const auto blocks = static_cast<int>(std::min<std::int64_t>(launch.blocks, std::int64_t{max_residency} * sms));
  std::vector<SmGroup> groups;
  for (const SmGroup& part : {SmGroup{.sms = blocks % sms, .blocks = {blocks / sms + 1}},
                              SmGroup{.sms = sms - blocks % sms, .blocks = {blocks / sms}}}) {
    if (part.sms == 0 || part.blocks.front() == 0) continue;
    groups.push_back({.sms = part.sms, .blocks = std::vector<int>(kernels, 0)});
    groups.back().blocks[kernel] = part.blocks.front();
  }
  return groups;
}

double places_used(const Launch& launch, int max_residency, int sms) {
  const double rounds = static_cast<double>(launch.blocks) / (static_cast<double>(max_residency) * sms);
  return rounds <= 1 ? 1 : rounds / std::ceil(rounds);
}

double launch_rate_alone(const Device& device, const Launch& launch) {
  const Kernel* kernels[] = {&launch.kernel};
  const int residency = max_residency(device, launch.kernel.needs);
  const std::vector<SmGroup> groups = first_round(launch, residency, device.sms);
  return corun_rates(device, kernels, groups).front() * places_used(launch, residency, device.sms);
}

}  // namespace gpushare
