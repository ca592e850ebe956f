// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/known_speeds.hpp"

namespace gpushare {
namespace {

/// A long session meets mixes of ever new launches; those of ended ones would pile up.
constexpr std::size_t most_known_mixes = 4096;

}  // namespace

const SmSpeeds& KnownSpeeds::of(StreamingMultiprocessor& sm) {
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
