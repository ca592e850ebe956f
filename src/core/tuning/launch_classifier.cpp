// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/launch_classifier.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/tuning/owner_weights.hpp"
#include "core/tuning/tuning.hpp"

namespace gpushare {
namespace {

double time_alone(const CatalogueEntry& kernel, std::int64_t blocks) {
  return kernel.rate_alone > 0 ? static_cast<double>(blocks) / kernel.rate_alone : 0;
}

double time_as_written(const CatalogueEntry& kernel, std::int64_t blocks) {
  const double rate = kernel.kernel.rate_as_written;
  return rate > 0 ? static_cast<double>(blocks) / rate : time_alone(kernel, blocks);
}

bool is_small(const Device& device, const CatalogueEntry& kernel, std::int64_t blocks, Duration small) {
  if (small == Duration::zero()) return false;
  if (!kernel.kernel.is_profiled) return blocks * Tuning::sms_per_block_of_small <= device.sms;
  return kernel.kernel.cost.latency <= small && time_alone(kernel, blocks) < nanoseconds(small);
}

bool needs_whole_gpu(const CoRunSlot& slot) {
  return slot.has_latency_bound() && (slot.alone <= 0 || slot.alone >= slot.time_for_work);
}

double rounded_up(double speed) { return std::ceil(speed * Tuning::speed_steps_per_one) / Tuning::speed_steps_per_one; }

}  // namespace

std::optional<double> CoRunSlot::least_speed() const {
  if (!min_speed && !has_latency_bound()) return std::nullopt;
  const double for_latency = rounded_up(alone / time_for_work);
  return std::min(1.0, Tuning::min_speed_margin * std::max(min_speed.value_or(0), for_latency));
}

std::vector<Contender> CoSchedule::contenders() const {
  std::vector<Contender> contenders;
  for (const CoRunSlot& slot : slots) contenders.push_back(slot.contender);
  return contenders;
}

CoSchedule LaunchClassifier::classify(const std::function<bool(OperationId)>& is_excluded) const {
  CoSchedule schedule;
  for (const RunningLaunch& launch : state_.running()) {
    if (!is_excluded(launch.id)) add(schedule, ActiveApplications::PredictedArrival::like(launch), &launch);
  }
  for (const auto& arrival : active_.predicted_arrivals(state_.now())) add(schedule, arrival, nullptr);
  // By priority, then in order of arrival.
  std::ranges::stable_sort(schedule.first, std::greater{},
                           [this](OperationId id) { return state_.find(id)->priority; });
  std::ranges::sort(schedule.slots, {}, [](const CoRunSlot& slot) { return slot.application; });
  set_weights(schedule);
  return schedule;
}

/// A predicted arrival only keeps a slot: there is nothing of it to serve yet.
void LaunchClassifier::add(CoSchedule& schedule, const ActiveApplications::PredictedArrival& arrival,
                           const RunningLaunch* running) const {
  const std::shared_ptr<CatalogueEntry> kernel = catalogue_.find(state_.device(), arrival.launch->kernel);
  const CoRunSlot slot = slot_for(arrival, running, kernel);
  if (arrival.priority > 0 || costs_little(arrival, *kernel) || needs_whole_gpu(slot)) {
    if (running != nullptr) schedule.first.push_back(running->id);
  } else if (schedule.slots.size() < Tuning::most_slots) {
    schedule.slots.push_back(slot);
  } else if (running != nullptr) {
    schedule.queued.push_back(running->id);
  }
}

void LaunchClassifier::set_weights(CoSchedule& schedule) const {
  std::vector<OwnWeight> own;
  for (const CoRunSlot& slot : schedule.slots) own.push_back({slot.application, slot.contender.weight});
  const std::vector<double> weights = weights_among_owners(own, state_);
  for (std::size_t i = 0; i < weights.size(); ++i) schedule.slots[i].contender.weight = weights[i];
}

bool LaunchClassifier::costs_little(const ActiveApplications::PredictedArrival& arrival,
                                    const CatalogueEntry& kernel) const {
  if (!is_small(state_.device(), kernel, arrival.launch->blocks, options_.small)) return false;
  const double most_resident = static_cast<double>(state_.sms()) * arrival.max_residency;
  return !active_.returns_at_once(arrival.application) ||
         static_cast<double>(arrival.launch->blocks) <= Tuning::small_share_of_gpu * most_resident;
}

CoRunSlot LaunchClassifier::slot_for(const ActiveApplications::PredictedArrival& arrival, const RunningLaunch* running,
                                     const std::shared_ptr<CatalogueEntry>& kernel) const {
  const Application& application = state_.application(arrival.application);
  CoRunSlot slot{.application = arrival.application,
                 .running = running != nullptr ? std::optional(running->id) : std::nullopt,
                 .kernel = kernel,
                 .alone = time_alone(*kernel, arrival.launch->blocks),
                 .as_written = time_as_written(*kernel, arrival.launch->blocks),
                 .min_speed = application.min_speed ? application.min_speed : options_.min_speed,
                 .fills_gpu = static_cast<double>(arrival.launch->blocks) >=
                              Tuning::share_that_fills * arrival.max_residency * state_.sms(),
                 .contender = {&kernel->kernel, arrival.max_residency, arrival.weight}};
  if (application.latency) {
    slot.latency_bound = nanoseconds(*application.latency);
    slot.time_for_work = nanoseconds(*application.latency - unavoidable_delay(kernel->kernel));
  }
  return slot;
}

/// The way to the GPU and back, and a last wave, however few blocks it has.
Duration LaunchClassifier::unavoidable_delay(const Kernel& kernel) const {
  const CommandDelays& delays = state_.device().delays;
  return delays.launch + delays.completion + (kernel.is_profiled ? kernel.cost.latency : Duration::zero());
}

bool are_short(const CoSchedule& schedule, double longest_alone) {
  return std::ranges::all_of(
      schedule.slots, [longest_alone](const CoRunSlot& slot) { return slot.alone > 0 && slot.alone <= longest_alone; });
}

bool has_latency_bound(const CoSchedule& schedule) {
  return std::ranges::any_of(schedule.slots, &CoRunSlot::has_latency_bound);
}

bool can_run_serially(const CoSchedule& schedule) {
  double round = 0;
  for (const CoRunSlot& slot : schedule.slots) round += slot.alone;
  return std::ranges::all_of(schedule.slots, [round](const CoRunSlot& slot) {
    return slot.fills_gpu && slot.min_speed.value_or(0) <= 0 && round <= slot.time_for_work;
  });
}

}  // namespace gpushare
