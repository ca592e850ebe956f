// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/guests.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// A pause of the host or of the GPU is no longer kernel: those that it met would keep all others from being admitted.
constexpr int most_growth = 8;

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
    const Duration took = now - *guest.begun;
    Duration& known = service_.find_or(guest.kernel, [took] { return took; });
    known = std::min(took, known + known / most_growth);
  }
  if (guest.is_admitted) --admitted_;
  return guest.is_admitted;
}

std::optional<Duration> Guests::service(const RunningLaunch& launch) const {
  const Duration* known = service_.peek(name_and_threads(launch.launch->kernel));
  return known != nullptr ? std::optional(*known) : std::nullopt;
}

}  // namespace gpushare
