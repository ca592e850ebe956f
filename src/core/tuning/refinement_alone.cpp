// SPDX-License-Identifier: Apache-2.0
// The part of Refinement that gives kernels whose rate alone nobody knows the GPU to themselves first.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/tuning/refinement.hpp"

namespace gpushare {

void Refinement::look_alone(Time now, std::span<const BlockProgress> progress) {
  if (window_.has_enough_of(solo_, now, progress)) {
    alone_[solo_] = rate(now, progress[solo_], solo_);
    if (alone_[solo_] <= 0) return enter(Phase::Done, best_, now);
    finish_alone();
    interruptions_ = 0;
    began_ = now;
    restart(now);
  } else if (window_.shows_nothing_of(solo_, now, progress) || window_.takes_too_long(now)) {
    enter(Phase::Done, best_, now);
  }
}

/// Whoever has not been alone is next; then the base.
void Refinement::finish_alone() {
  const auto unknown = std::ranges::find(alone_, 0.0);
  phase_ = unknown == alone_.end() ? Phase::Base : Phase::Alone;
  current_ = best_;
  if (phase_ == Phase::Base) {
    if (contenders_.size() == 1) phase_ = Phase::Done;  // there is nothing to choose
    return;
  }
  solo_ = static_cast<std::size_t>(unknown - alone_.begin());
  int sms = 0;
  for (const SmGroup& group : best_) sms += group.sms;
  std::vector<int> blocks(contenders_.size(), 0);
  blocks[solo_] = contenders_[solo_].max_residency;
  current_ = {{.sms = sms, .blocks = std::move(blocks)}};
}

}  // namespace gpushare
