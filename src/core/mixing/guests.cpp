// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/guests.hpp"

#include <algorithm>

namespace gpushare {

void Guests::come(const RunningLaunch& launch, bool is_admitted) {
  const Guest guest{.sms = sms_filled_by(launch),
                    .kernel = name_and_threads(launch.launch->kernel),
                    .arrival = launch.arrival,
                    .is_admitted = is_admitted};
  const bool is_new = guests_.try_emplace(launch.id, guest).second;
  if (is_new && is_admitted) ++admitted_;
}

bool Guests::leave(OperationId launch, Time now) {
  const auto found = guests_.extract(launch);
  if (!found || !found.mapped().is_admitted) return false;
  --admitted_;
  const Guest& guest = found.mapped();
  const Duration turnaround = now - guest.arrival;
  Duration& shortest = shortest_.find_or(guest.kernel, [turnaround] { return turnaround; });
  shortest = std::min(shortest, turnaround);
  return true;
}

double Guests::sms() const {
  double sum = 0;
  for (const auto& [id, guest] : guests_) sum += guest.sms;
  return sum;
}

Duration Guests::time_on(int sms) const {
  double work = 0;
  for (const auto& [id, guest] : guests_) {
    const Duration* shortest = shortest_.peek(guest.kernel);
    if (shortest == nullptr) return Duration::max();
    work += guest.sms * nanoseconds(*shortest);
  }
  return Duration(static_cast<Duration::rep>(work / sms));
}

}  // namespace gpushare
