// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/sample_history.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tuning/tuning.hpp"

namespace gpushare {

const Sample* AllocationSamples::typical() const {
  if (samples.empty()) return nullptr;
  std::vector<const Sample*> sorted;
  for (const Sample& each : samples) sorted.push_back(&each);
  std::ranges::sort(sorted, {}, &Sample::value);
  const Sample* median = sorted[(sorted.size() - 1) / 2];
  return samples.back().value > median->value ? &samples.back() : median;
}

double AllocationSamples::value() const {
  const Sample* found = typical();
  return found != nullptr ? found->value : std::numeric_limits<double>::lowest();
}

void SampleHistory::add(const SmAllocation& allocation, const SpeedEstimate& seen, double value) {
  auto samples = std::ranges::find_if(
      allocations_, [&](const AllocationSamples& each) { return same_allocation(each.allocation, allocation); });
  if (samples == allocations_.end())
    samples = allocations_.insert(samples, AllocationSamples{.allocation = allocation});
  samples->samples.push_back({.seen = seen, .value = value});
  if (samples->samples.size() > Tuning::samples_remembered) samples->samples.erase(samples->samples.begin());
}

void SampleHistory::reject(const SmAllocation& allocation) {
  if (!knows(allocation)) allocations_.push_back({.allocation = allocation});
}

const AllocationSamples* SampleHistory::find(const SmAllocation& allocation) const {
  const auto found = std::ranges::find_if(
      allocations_, [&](const AllocationSamples& each) { return same_allocation(each.allocation, allocation); });
  return found == allocations_.end() ? nullptr : &*found;
}

double SampleHistory::value_of(const SmAllocation& allocation) const {
  const AllocationSamples* samples = find(allocation);
  return samples != nullptr ? samples->value() : std::numeric_limits<double>::lowest();
}

bool SampleHistory::needs_third_sample(const SmAllocation& allocation, double difference) const {
  const AllocationSamples* samples = find(allocation);
  return samples != nullptr && samples->samples.size() == 2 &&
         std::abs(samples->samples.front().value - samples->samples.back().value) > difference;
}

const AllocationSamples& SampleHistory::best() const {
  return *std::ranges::max_element(allocations_, {}, &AllocationSamples::value);
}

const AllocationSamples* SampleHistory::best_of(const std::function<bool(const SmAllocation&)>& is_of_kind) const {
  const AllocationSamples* best = nullptr;
  for (const AllocationSamples& samples : allocations_) {
    if (samples.samples.empty() || !is_of_kind(samples.allocation)) continue;
    if (best == nullptr || samples.value() > best->value()) best = &samples;
  }
  return best;
}

}  // namespace gpushare
