// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/quiescence.hpp"

namespace gpushare {

Quiescence::Action Quiescence::begin_use(Time now) {
  if (is_draining() || may_use()) return Action::None;
  if (requests_.begin_use()) {
    phase_ = Phase::InUse;
    return Action::None;
  }
  drain(now);
  phase_ = Phase::Drained;
  return Action::Drain;
}

void Quiescence::drain(Time now) {
  phase_ = Phase::Draining;
  began_ = now;
}

/// After a drain of length d the next one is refused for d, so drains take at most half of the time.
bool Quiescence::end_drain(Time now) {
  const bool is_too_long = now - began_ >= longest_drain;
  if (is_too_long) requests_.take_back();
  const bool is_over = phase_ == Phase::Draining ? is_too_long || !requests_.is_wanted() : requests_.begin_use();
  if (!is_over) return false;
  phase_ = Phase::InUse;
  no_drain_before_ = now + (now - began_);
  return true;
}

}  // namespace gpushare
