// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>

#include "core/simulation/contention.hpp"
#include "core/simulation/memory_load.hpp"

namespace gpushare {
namespace {

/// One resource behind the SMs and what a byte of traffic takes from it.
struct SharedPipe {
  double capacity;  // bytes per nanosecond
  double weight_of_misses;
  double weight_of_all;

  double weight(const Traffic& traffic) const {
    return weight_of_all + weight_of_misses * (1 - traffic.llc_hit_ratio) * traffic.dram_cost_ratio;
  }
};

double per_nanosecond(Bandwidth bandwidth) {
  return bandwidth.bytes_per_second > 0 ? bandwidth.bytes_per_second * 1e-9 : std::numeric_limits<double>::infinity();
}

double demand(const Traffic& traffic) { return traffic.bytes / traffic.block_time; }

std::vector<double> max_min_fair(std::span<const Traffic> traffics, const OffSmBandwidth& off_sm) {
  // Progressive filling: raise the same rate for all blocks; one that has what it wants stops, and a pipe that is
  // full stops all blocks that use it.
  std::array pipes{SharedPipe{std::min(per_nanosecond(off_sm.noc), per_nanosecond(off_sm.llc)), 0, 1},
                   SharedPipe{per_nanosecond(off_sm.dram), 1, 0}};
  std::vector<double> rate(traffics.size(), -1);  // bytes per nanosecond and block; -1 while it still rises
  double level = 0;
  for (std::size_t settled = 0; settled < traffics.size();) {
    double next = std::numeric_limits<double>::infinity();
    std::array<double, 2> users{};
    for (std::size_t i = 0; i < traffics.size(); ++i) {
      if (rate[i] >= 0) continue;
      next = std::min(next, demand(traffics[i]));
      for (std::size_t p = 0; p < pipes.size(); ++p) users[p] += traffics[i].blocks * pipes[p].weight(traffics[i]);
    }
    std::array<bool, 2> full{};
    for (std::size_t p = 0; p < pipes.size(); ++p) {
      if (users[p] > 0) next = std::min(next, level + std::max(pipes[p].capacity, 0.0) / users[p]);
    }
    for (std::size_t p = 0; p < pipes.size(); ++p) {
      full[p] = users[p] > 0 && level + pipes[p].capacity / users[p] <= next * (1 + 1e-12);
      if (users[p] > 0) pipes[p].capacity -= (next - level) * users[p];
    }
    level = next;
    for (std::size_t i = 0; i < traffics.size(); ++i) {
      if (rate[i] >= 0) continue;
      const bool stopped =
          (full[0] && pipes[0].weight(traffics[i]) > 0) || (full[1] && pipes[1].weight(traffics[i]) > 0);
      if (!stopped && demand(traffics[i]) > level * (1 + 1e-12)) continue;
      rate[i] = level;
      ++settled;
    }
  }
  std::vector<double> shares;
  shares.reserve(traffics.size());
  for (std::size_t i = 0; i < traffics.size(); ++i) {
    shares.push_back(demand(traffics[i]) > 0 ? std::min(1.0, rate[i] / demand(traffics[i])) : 1.0);
  }
  return shares;
}

}  // namespace

std::vector<double> bandwidth_shares(std::span<const Traffic> traffics, const OffSmBandwidth& off_sm) {
  std::vector<double> shares = max_min_fair(traffics, off_sm);
  const bool any_waits = std::ranges::any_of(traffics, [](const Traffic& each) { return each.wait.depends_on_load(); });
  if (!any_waits || off_sm.delay.is_none()) return shares;
  // Kinds of which only the bytes are known have their share already; that of others follows from the load of memory.
  const std::vector<MemoryLoad> loads = memory_loads(traffics, shares, off_sm);
  for (std::size_t i = 0; i < traffics.size(); ++i) {
    const Traffic& each = traffics[i];
    if (each.wait.depends_on_load()) shares[i] = each.block_time / loaded_block_time(each, loads[each.group]);
  }
  return shares;
}

}  // namespace gpushare
