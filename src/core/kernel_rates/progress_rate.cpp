// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_rates/progress_rate.hpp"

#include <algorithm>

namespace gpushare {

void ProgressRate::restart(Time now) {
  applications_.clear();
  begin_ = now;
}

void ProgressRate::resume(Time now) {
  begin_ = std::max(begin_, now);
  is_paused_ = false;
}

void ProgressRate::observe(const Event& event, const State& state) {
  if (event.kind != EventKind::BlockEnded || event.started < begin_ || is_paused_) return;
  Ended& ended = applications_[state.find(event.operation)->application];
  ended.blocks += event.blocks;
  ended.duration += event.blocks * nanoseconds(event.time - event.started);
}

std::int64_t ProgressRate::blocks(ApplicationId application) const {
  const auto found = applications_.find(application);
  return found != applications_.end() ? found->second.blocks : 0;
}

std::optional<double> ProgressRate::rate(ApplicationId application, std::int64_t places) const {
  if (blocks(application) == 0) return std::nullopt;
  const Ended& ended = applications_.at(application);
  // No clock is finer than a nanosecond, so that is the least that blocks take.
  const double mean_duration = std::max(ended.duration / static_cast<double>(ended.blocks), 1.0);
  return static_cast<double>(places) / mean_duration;
}

}  // namespace gpushare
