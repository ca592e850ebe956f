// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/sm_speed_cache.hpp"

namespace gpushare {
namespace {

/// In a long session mixes of launches that have ended would pile up.
constexpr std::size_t most_known_mixes = 4096;

}  // namespace

const SmSpeeds& SmSpeedCache::of(StreamingMultiprocessor& sm) {
  mix_.clear();
  for (const ResidentGroup& group : sm.groups()) mix_.emplace_back(group.launch->number, group.resident());
  const auto known = known_.find(mix_);
  if (known != known_.end()) return known->second;
  if (known_.size() == most_known_mixes) known_.clear();
  std::vector<Residents> residents;
  for (const ResidentGroup& group : sm.groups()) {
    residents.push_back({&group.launch->launch.kernel.cost, group.resident()});
  }
  return known_.emplace(mix_, SmSpeeds{block_times(residents, order_), memory_waits(residents, order_)}).first->second;
}

}  // namespace gpushare
