// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/arrears.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// Nanoseconds after which there is a verdict: single launches differ.
constexpr double long_enough = 2e6;
/// At a time: what follows from more would be seen too late.
constexpr double largest_step = 1.1;
/// So much above the floor a little is taken back.
constexpr double too_much = 1.1;
constexpr double step_back = 0.97;

}  // namespace

void Arrears::observe(const Event& event) {
  if (event.kind == EventKind::LaunchArrived) accounts_[event.application].arrival = event.time;
}

void Arrears::add(const Event& ended, double alone, double floor) {
  Account& account = accounts_[ended.application];
  if (account.arrival < since_) return;
  account.alone += alone;
  account.took += nanoseconds(ended.time - account.arrival);
  if (account.took < long_enough) return;
  const double speed = account.alone / account.took;
  if (speed < floor) account.factor = std::min(account.factor * std::min(floor / speed, largest_step), 1 / floor);
  if (speed > too_much * floor) account.factor = std::max(account.factor * step_back, 1.0);
  account.alone = account.took = 0;
}

void Arrears::restart(Time now) {
  since_ = now;
  for (auto& [application, account] : accounts_) account.alone = account.took = 0;
}

double Arrears::factor(ApplicationId application) const {
  const auto found = accounts_.find(application);
  return found == accounts_.end() ? 1 : found->second.factor;
}

}  // namespace gpushare
