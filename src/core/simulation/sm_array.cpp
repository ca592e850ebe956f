// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/sm_array.hpp"

#include <utility>

namespace gpushare {

SmArray::SmArray(const Device& device)
    : sms_(static_cast<std::size_t>(device.sms), StreamingMultiprocessor(device.per_sm)),
      ends_(sms_.size()),
      speeds_(device.per_sm.issue_order),
      bandwidth_(device.off_sm) {}

SmArray::EndedBlock SmArray::end_first(double now) {
  const std::size_t sm = ends_.position();
  return {static_cast<SmId>(sm), sms_[sm].end_first(now)};
}

void SmArray::set_rates(SmId id, double now) {
  StreamingMultiprocessor& sm = sms_[index(id)];
  if (sm.needs_rates()) {
    rates_changed_ = true;
    sm.advance(now);
    sm.drop_empty_groups();
    const SmSpeeds& speeds = speeds_.of(sm);
    for (std::size_t kind = 0; kind < sm.groups().size(); ++kind) {
      sm.groups()[kind].set_block_time(speeds.block_times[kind], speeds.waits[kind]);
    }
  }
  ends_.set(index(id), sm.find_next_end());
}

void SmArray::share_bandwidth(double now) {
  if (!std::exchange(rates_changed_, false) || !uses_off_sm_) return;
  const auto changed = bandwidth_.share(sms_, now);
  for (const std::size_t sm : changed) ends_.set_later(sm, sms_[sm].find_next_end());
  if (!changed.empty()) ends_.rebuild();
}

}  // namespace gpushare
