// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/slowdown_deficit.hpp"

#include <algorithm>

#include "core/tuning/tuning.hpp"

namespace gpushare {

void SlowdownDeficit::observe(const Event& event) {
  if (event.kind == EventKind::LaunchArrived) accounts_[event.application].arrival = event.time;
}

void SlowdownDeficit::add(const Event& ended, double alone, double min_speed) {
  Account& account = accounts_[ended.application];
  if (account.arrival < since_) return;
  account.alone += alone;
  account.took += nanoseconds(ended.time - account.arrival);
  if (account.took < Tuning::deficit_window_ns) return;
  const double speed = account.alone / account.took;
  if (speed < min_speed) {
    const double step = std::min(min_speed / speed, Tuning::largest_deficit_step);
    account.factor = std::min(account.factor * step, 1 / min_speed);
  }
  if (speed > Tuning::deficit_surplus * min_speed) {
    account.factor = std::max(account.factor * Tuning::deficit_decay, 1.0);
  }
  account.alone = account.took = 0;
}

void SlowdownDeficit::restart(Time now) {
  since_ = now;
  for (auto& [application, account] : accounts_) account.alone = account.took = 0;
}

double SlowdownDeficit::factor(ApplicationId application) const {
  const auto found = accounts_.find(application);
  return found == accounts_.end() ? 1 : found->second.factor;
}

}  // namespace gpushare
