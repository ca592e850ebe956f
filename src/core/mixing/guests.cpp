// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/guests.hpp"

#include <algorithm>

namespace gpushare {

void Guests::come(const RunningLaunch& launch, bool is_admitted) {
  if (guests_.contains(launch.id)) return;
  guests_[launch.id] = {.sms = sms_filled_by(launch),
                        .kernel = name_and_threads(launch.launch->kernel),
                        .arrival = launch.arrival,
                        .is_admitted = is_admitted};
  sms_ += sms_filled_by(launch);
  if (is_admitted) ++admitted_;
}

bool Guests::leave(OperationId launch, Time now) {
  const auto found = guests_.extract(launch);
  if (!found) return false;
  const Guest& guest = found.mapped();
  sms_ = guests_.empty() ? 0 : sms_ - guest.sms;  // rounding is forgotten, too
  if (!guest.is_admitted) return false;
  --admitted_;
  const Duration turnaround = now - guest.arrival;
  Duration& shortest = shortest_.find_or(guest.kernel, [turnaround] { return turnaround; });
  shortest = std::min(shortest, turnaround);
  return true;
}

std::optional<Duration> Guests::shortest(const RunningLaunch& launch) const {
  const Duration* known = shortest_.peek(name_and_threads(launch.launch->kernel));
  return known != nullptr ? std::optional(*known) : std::nullopt;
}

}  // namespace gpushare
