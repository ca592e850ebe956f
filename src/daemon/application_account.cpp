// SPDX-License-Identifier: Apache-2.0
#include "daemon/application_account.hpp"

#include <algorithm>

namespace gpushare::daemon {

std::optional<double> ApplicationTotals::ntt() const {
  if (!alone || *alone <= 0) return std::nullopt;
  return static_cast<double>(in_system) / *alone;
}

void ApplicationAccount::submitted(std::int64_t now) {
  const std::lock_guard lock(mutex_);
  time_.submitted(now);
  totals_.unfinished = time_.unfinished();
}

/// A refused job does not count.
void ApplicationAccount::ended(std::int64_t submitted, std::int64_t now, JobStatus status,
                               std::optional<double> alone) {
  const std::lock_guard lock(mutex_);
  status == JobStatus::Refused ? time_.refused() : time_.ended(now);
  totals_.unfinished = time_.unfinished();
  if (status == JobStatus::Refused) return;
  ++totals_.ended;
  totals_.turnaround += now - submitted;
  ++totals_.turnarounds[static_cast<std::size_t>(std::ranges::lower_bound(turnaround_bounds, now - submitted) -
                                                 turnaround_bounds.begin())];
  totals_.in_system = time_.total();
  const bool is_known = totals_.alone && alone && status == JobStatus::Done;
  totals_.alone = is_known ? std::optional(*totals_.alone + *alone) : std::nullopt;
}

ApplicationTotals ApplicationAccount::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace gpushare::daemon
