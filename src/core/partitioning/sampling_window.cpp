// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/sampling_window.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// Longer phases would be needed for blocks of milliseconds, but nothing would be learnt of the others meanwhile.
constexpr int most_looks = 16;

/// An SM may be empty for a moment between two blocks, or as far as a GPU has reported.
constexpr double most_empty_sms = 0.1;

/// Has the launch left SMs that are not its application's, and arrived on those that are?
bool is_in_place(const RunningLaunch& launch, const SmPartition& partition) {
  int empty = 0;
  for (std::size_t sm = 0; sm < launch.per_sm.size(); ++sm) {
    const bool is_own = partition.owns(launch.application, static_cast<SmId>(sm));
    const bool is_there = launch.per_sm[sm].resident > 0;
    if (is_there && !is_own) return false;
    if (is_own && !is_there) ++empty;
  }
  return launch.unstarted() == 0 || empty <= most_empty_sms * partition.sms_of(launch.application);
}

/// The last blocks run, and the places of others are empty already.
bool is_in_its_tail(const RunningLaunch& launch) { return launch.unstarted() == 0 && launch.done > 0; }

bool fills_its_places(const State& state, const Member& member) {
  return std::ranges::any_of(state.running(), [&](const RunningLaunch& launch) {
    return launch.application == member.application && launch.started > 0 && !is_in_its_tail(launch);
  });
}

}  // namespace

void SamplingWindow::observe(const Event& event, const State& state, std::span<const Member> members) {
  progress_.observe(event, state);
  if (event.kind == EventKind::LaunchArrived || event.kind == EventKind::LaunchEnded) progress_.pause();
  if (event.kind != EventKind::BlockStarted) return;
  if (is_in_its_tail(*state.find(event.operation))) progress_.pause();
  if (!progress_.is_paused()) return;
  const auto fills = [&](const Member& member) { return fills_its_places(state, member); };
  if (std::ranges::all_of(members, fills)) progress_.resume(event.time);
}

void SamplingWindow::begin(Time now, Duration length) {
  length_ = length;
  is_warm_ = false;
  next_look_ = now + length_;
  looks_ = 0;
  progress_.restart(now);
}

bool SamplingWindow::complete(const State& state, const SmPartition& partition, std::span<const Member> members) {
  next_look_ = state.now() + length_;
  ++looks_;
  const auto ready =
      std::ranges::count_if(members, [&](const Member& each) { return has_ended_a_wave(each, partition); });
  const bool is_enough = looks_ < most_looks ? ready == std::ssize(members) : ready > 0;
  if (!is_enough) return false;
  if (is_warm_) return true;
  is_warm_ =
      std::ranges::all_of(state.running(), [&](const RunningLaunch& each) { return is_in_place(each, partition); });
  if (is_warm_) {
    progress_.restart(state.now());
    looks_ = 0;
  }
  return false;
}

std::optional<double> SamplingWindow::rate(const Member& member, const SmPartition& partition) const {
  if (!has_ended_a_wave(member, partition)) return std::nullopt;
  return progress_.rate(member.application, member.places(partition.sms_of(member.application)));
}

bool SamplingWindow::has_ended_a_wave(const Member& member, const SmPartition& partition) const {
  const std::int64_t wave = member.places(partition.sms_of(member.application));
  return progress_.blocks(member.application) >= std::max<std::int64_t>(wave, 1);
}

}  // namespace gpushare
