// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/qos_guard.hpp"

#include "core/tuning/tuning.hpp"

namespace gpushare {
namespace {

double default_min_speed(std::size_t kernels, double promised) {
  return Tuning::default_min_speed_share / static_cast<double>(kernels) *
         std::max(1 - promised, Tuning::least_unpromised_part);
}

}  // namespace

void QosGuard::account(const Event& ended, const CoSchedule& schedule) {
  const auto slot = std::ranges::find(schedule.slots, ended.application, &CoRunSlot::application);
  if (slot == schedule.slots.end() || slot->min_speed.value_or(0) <= 0 || slot->as_written <= 0) return;
  deficit_.add(ended, slot->as_written, *slot->min_speed);
}

void QosGuard::set_min_speeds(CoSchedule& schedule, bool begins_with_equal_partition) {
  std::vector<CoRunSlot>& slots = schedule.slots;
  double promised = 0;
  for (const CoRunSlot& slot : slots) promised += slot.least_speed().value_or(0);
  const auto is_as_heavy = [&](const CoRunSlot& slot) {
    return slot.contender.weight == slots.front().contender.weight;
  };
  const bool are_equal = promised <= 0 && std::ranges::all_of(slots, is_as_heavy);
  const double otherwise = are_equal && begins_with_equal_partition ? 0 : default_min_speed(slots.size(), promised);
  for (CoRunSlot& slot : slots) slot.contender.min_speed = slot.least_speed().value_or(otherwise);
}

std::vector<CoRunSlot>::iterator QosGuard::find_broken_latency_bound(CoSchedule& schedule,
                                                                     const std::vector<double>& speeds,
                                                                     bool are_measured) {
  std::vector<CoRunSlot>& slots = schedule.slots;
  return std::ranges::find_if(slots, [&](const CoRunSlot& slot) {
    const auto place = static_cast<std::size_t>(&slot - slots.data());
    // Measured speeds include the way to the GPU and the last wave.
    const double time = are_measured ? slot.latency_bound : slot.time_for_work;
    return place < speeds.size() && slot.has_latency_bound() && speeds[place] < slot.alone / time;
  });
}

}  // namespace gpushare
