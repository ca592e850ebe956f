// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/headroom/reserved_sm_usage.hpp"

#include <algorithm>

#include "core/tuning/tuning.hpp"

namespace gpushare {

void ReservedSmUsage::add(const RunningLaunch& launch, bool is_admitted) {
  if (occupants_.contains(launch.id)) return;
  occupants_[launch.id] = {.sms = sms_filled_by(launch),
                           .kernel = name_and_threads(launch.launch->kernel),
                           .priority = launch.priority,
                           .is_admitted = is_admitted};
  ++priorities_[launch.priority];
  sms_ += sms_filled_by(launch);
  if (is_admitted) ++admitted_;
}

void ReservedSmUsage::start(OperationId launch, Time now) {
  const auto occupant = occupants_.find(launch);
  if (occupant != occupants_.end() && !occupant->second.begun) occupant->second.begun = now;
}

bool ReservedSmUsage::remove(OperationId launch, Time now) {
  const auto found = occupants_.extract(launch);
  if (!found) return false;
  const Occupant& occupant = found.mapped();
  if (--priorities_[occupant.priority] == 0) priorities_.erase(occupant.priority);
  sms_ = occupants_.empty() ? 0 : sms_ - occupant.sms;
  if (occupant.begun) {
    const Duration time = std::max(now - *occupant.begun, Tuning::least_service_time);
    service_times_.find_or(occupant.kernel, [] { return ServiceTimes(); }).add(time);
  }
  if (occupant.is_admitted) --admitted_;
  return occupant.is_admitted;
}

std::optional<Duration> ReservedSmUsage::service_time(const RunningLaunch& launch) const {
  const ServiceTimes* known = service_times_.peek(name_and_threads(launch.launch->kernel));
  return known != nullptr ? std::optional(known->median()) : std::nullopt;
}

}  // namespace gpushare
