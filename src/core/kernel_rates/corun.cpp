// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_rates/corun.hpp"

#include "core/model/errors.hpp"
#include "core/model/residency.hpp"
#include "core/simulation/contention.hpp"

namespace gpushare {
namespace {

/// Blocks of one kernel on the SMs of one group.
struct Part {
  std::size_t kernel;
  Traffic traffic;
};

/// Does its speed depend on anything beyond its SM?
bool shares_bandwidth(const Traffic& traffic) { return traffic.bytes > 0 || traffic.wait.depends_on_load(); }

void add_parts(std::span<const Kernel* const> kernels, const SmGroup& group, std::size_t number, IssueOrder order,
               std::vector<Part>& parts) {
  std::vector<Residents> mix;
  std::vector<std::size_t> present;
  GPUSHARE_EXPECT(group.blocks.size() == kernels.size(), "a group says how many blocks of each kernel it has");
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
    if (group.blocks[kernel] == 0) continue;
    mix.push_back({.cost = &kernels[kernel]->cost, .blocks = group.blocks[kernel]});
    present.push_back(kernel);
  }
  const std::vector<MemoryWait> waits = memory_waits(mix, order);
  const std::vector<double> times = block_times(mix, order);
  for (std::size_t i = 0; i < mix.size(); ++i) {
    const BlockCost& cost = *mix[i].cost;
    parts.push_back({.kernel = present[i],
                     .traffic = {.bytes = static_cast<double>(cost.off_sm.count),
                                 .llc_hit_ratio = cost.llc_hit_ratio,
                                 .block_time = times[i],
                                 .blocks = group.sms * mix[i].blocks,
                                 .dram_cost_ratio = cost.dram_cost_ratio,
                                 .wait = waits[i],
                                 .group = number,
                                 .sms = group.sms}});
  }
}

}  // namespace

std::vector<double> corun_rates(const Device& device, std::span<const Kernel* const> kernels,
                                std::span<const SmGroup> groups) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].sms > 0) add_parts(kernels, groups[i], i, device.per_sm.issue_order, parts);
  }
  std::vector<Traffic> traffics;
  for (const Part& part : parts) {
    if (shares_bandwidth(part.traffic)) traffics.push_back(part.traffic);
  }
  const std::vector<double> shares = bandwidth_shares(traffics, device.off_sm);
  std::vector<double> rates(kernels.size(), 0.0);
  std::size_t next_share = 0;
  for (const Part& part : parts) {
    const double share = shares_bandwidth(part.traffic) ? shares[next_share++] : 1.0;
    rates[part.kernel] += share * part.traffic.blocks / part.traffic.block_time;
  }
  return rates;
}

double rate_alone(const Device& device, const Kernel& kernel, int sms, int residency) {
  const Kernel* kernels[] = {&kernel};
  const SmGroup groups[] = {{.sms = sms, .blocks = {residency}}};
  return corun_rates(device, kernels, groups).front();
}

double rate_alone(const Device& device, const Kernel& kernel) {
  return rate_alone(device, kernel, device.sms, max_residency(device, kernel.needs));
}

}  // namespace gpushare
