// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/guests.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// One whose start and end were seen at once.
constexpr Duration least_service(1'000);

}  // namespace

void Guests::come(const RunningLaunch& launch, bool is_admitted) {
  if (guests_.contains(launch.id)) return;
  guests_[launch.id] = {.sms = sms_filled_by(launch),
                        .kernel = name_and_threads(launch.launch->kernel),
                        .priority = launch.priority,
                        .is_admitted = is_admitted};
  ++priorities_[launch.priority];
  sms_ += sms_filled_by(launch);
  if (is_admitted) ++admitted_;
}

void Guests::begin(OperationId launch, Time now) {
  const auto guest = guests_.find(launch);
  if (guest != guests_.end() && !guest->second.begun) guest->second.begun = now;
}

bool Guests::leave(OperationId launch, Time now) {
  const auto found = guests_.extract(launch);
  if (!found) return false;
  const Guest& guest = found.mapped();
  if (--priorities_[guest.priority] == 0) priorities_.erase(guest.priority);
  sms_ = guests_.empty() ? 0 : sms_ - guest.sms;
  if (guest.begun) {
    service_.find_or(guest.kernel, [] { return Latest(); }).add(std::max(now - *guest.begun, least_service));
  }
  if (guest.is_admitted) --admitted_;
  return guest.is_admitted;
}

std::optional<Duration> Guests::service(const RunningLaunch& launch) const {
  const Latest* known = service_.peek(name_and_threads(launch.launch->kernel));
  return known != nullptr ? std::optional(known->median()) : std::nullopt;
}

}  // namespace gpushare
