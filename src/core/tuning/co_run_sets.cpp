// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/co_run_sets.hpp"

#include <algorithm>

#include "core/tuning/qos_guard.hpp"

namespace gpushare {
namespace {

/// The rate of the original kernel, where that has been measured: then the overhead of workers counts.
double rate_to_compare(const CatalogueEntry& kernel) {
  return kernel.kernel.rate_as_written > 0 ? kernel.kernel.rate_as_written : kernel.rate_alone;
}

bool are_profiled(const std::vector<Contender>& contenders) {
  return std::ranges::all_of(contenders, [](const Contender& each) { return each.kernel->is_profiled; });
}

}  // namespace

CoRunSet& CoRunSets::find(const CoSchedule& schedule, const Device& device) {
  Key key{{}, can_run_serially(schedule) && are_short(schedule, options_.longest_serial)};
  for (const CoRunSlot& slot : schedule.slots) {
    key.first.emplace_back(slot.kernel->number, slot.contender.weight, slot.contender.min_speed);
  }
  return sets_.find_or(key, [&] { return make(schedule, device); });
}

OnlineTuner CoRunSets::tuner_from(const SmAllocation& start, const CoSchedule& schedule) const {
  std::vector<double> rates_alone;
  for (const CoRunSlot& slot : schedule.slots) rates_alone.push_back(rate_to_compare(*slot.kernel));
  const ProbeOptions probes = start.empty() ? ProbeOptions{} : options_.probes;
  return OnlineTuner(start, schedule.contenders(), std::move(rates_alone), options_.bounds, probes);
}

CoRunSet CoRunSets::make(const CoSchedule& schedule, const Device& device) const {
  const std::vector<Contender> contenders = schedule.contenders();
  const bool have_sms = static_cast<int>(contenders.size()) <= device.sms;
  if (is_conservative(device) && contenders.size() > 1 && have_sms) return begin_with_equal_partition(schedule, device);
  AllocationChoice choice = predict(contenders, device);
  OnlineTuner tuner = tuner_from(choice.allocation, schedule);
  return {.predicted = std::move(choice), .tuner = std::move(tuner)};
}

CoRunSet CoRunSets::begin_with_equal_partition(const CoSchedule& schedule, const Device& device) const {
  const std::vector<Contender> contenders = schedule.contenders();
  AllocationChoice choice{.allocation = equal_partition(device, contenders)};
  std::unique_ptr<IncrementalSearch> search;
  if (are_profiled(contenders)) {
    search = std::make_unique<IncrementalSearch>(device, contenders, options_.bounds);
    choice = search->equal();
  }
  OnlineTuner tuner = tuner_from(choice.allocation, schedule);
  return {.predicted = std::move(choice), .tuner = std::move(tuner), .search = std::move(search)};
}

AllocationChoice CoRunSets::predict(const std::vector<Contender>& contenders, const Device& device) const {
  if (contenders.empty()) return {};
  if (contenders.size() == 1) return {.allocation = {{.sms = device.sms, .blocks = {contenders[0].max_residency}}}};
  if (!are_profiled(contenders)) return {.allocation = proportional_allocation(device, contenders)};
  return best_allocation(ContentionModel(device, contenders), options_.bounds);
}

}  // namespace gpushare
