// SPDX-License-Identifier: Apache-2.0
#include "core/policies/sampling_window.hpp"

namespace gpushare {
namespace {

/// Nobody has a block on an SM that is not its own.
bool is_drained(const State& state, const SmPartition& partition) {
  for (const RunningLaunch& launch : state.running()) {
    for (std::size_t sm = 0; sm < launch.per_sm.size(); ++sm) {
      if (launch.per_sm[sm].resident > 0 && !partition.owns(launch.application, static_cast<SmId>(sm))) return false;
    }
  }
  return true;
}

}  // namespace

void SamplingWindow::begin(Time now, Duration length) {
  length_ = length;
  is_warm_ = false;
  next_look_ = now + length_;
  progress_.restart();
}

bool SamplingWindow::complete(const State& state, const SmPartition& partition, std::span<const Member> members) {
  next_look_ = state.now() + length_;
  if (!a_wave_has_ended(partition, members)) return false;
  if (is_warm_) return true;
  is_warm_ = is_drained(state, partition);
  if (is_warm_) progress_.restart();
  return false;
}

double SamplingWindow::rate(const Member& member, const SmPartition& partition) const {
  return progress_.rate(member.application, member.places(partition.sms_of(member.application))).value_or(0);
}

bool SamplingWindow::a_wave_has_ended(const SmPartition& partition, std::span<const Member> members) const {
  for (const Member& member : members) {
    if (progress_.blocks(member.application) < member.places(partition.sms_of(member.application))) return false;
  }
  return true;
}

}  // namespace gpushare
