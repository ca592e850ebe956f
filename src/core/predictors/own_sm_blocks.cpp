// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/own_sm_blocks.hpp"

#include "core/errors.hpp"

namespace gpushare {
namespace {

/// Decisions cost time, and change little in less.
constexpr Duration between_looks{50'000};

}  // namespace

void OwnSmBlocks::Blocks::add(double blocks, double block_ns, double half_forgotten_after) {
  const double weight = ended == 0 ? 1 : blocks / (blocks + half_forgotten_after);
  latest_ns += weight * (block_ns - latest_ns);
  busy_ns += blocks * block_ns;
  ended += blocks;
}

void OwnSmBlocks::observe(const Event& event, const State& state) {
  changed_ = false;
  sms_.resize(static_cast<std::size_t>(state.sms()));
  if (event.kind == EventKind::LaunchArrived) launches_[event.operation] = {};
  if (event.kind == EventKind::LaunchEnded) launches_.erase(event.operation);
  if (event.kind == EventKind::BlockStarted) sms_[index(event.sm)].resident += event.blocks;
  if (event.kind == EventKind::BlockEnded) add(event, *state.find(event.operation));
}

bool OwnSmBlocks::had_own_sm(const Event& ended, const RunningLaunch& launch) {
  Sm& sm = sms_[index(ended.sm)];
  sm.resident -= ended.blocks;
  const bool is_crowded = sm.resident > launch.per_sm[index(ended.sm)].resident;
  if (is_crowded) sm.crowded = ended.time;
  return !is_crowded && ended.started >= sm.crowded;
}

void OwnSmBlocks::add(const Event& ended, const RunningLaunch& launch) {
  Seen& seen = launches_[launch.id];
  Blocks& blocks = had_own_sm(ended, launch) ? seen.own : seen.crowded;
  const bool is_first = blocks.ended == 0;
  const double all_at_once = static_cast<double>(launch.max_residency) * static_cast<double>(sms_.size());
  blocks.add(static_cast<double>(ended.blocks), nanoseconds(ended.time - ended.started), all_at_once);
  const bool is_due = is_first || ended.time - looked_at_ >= between_looks;
  changed_ = is_due && &blocks == &seen.best() && !is_remembered(launch);
  if (changed_) looked_at_ = ended.time;
  if (remembers_ && launch.unfinished() == 0) known_ns_[key(launch)] = seen.best().mean_ns();
}

const OwnSmBlocks::Seen* OwnSmBlocks::find(const RunningLaunch& launch) const {
  const auto found = launches_.find(launch.id);
  return found == launches_.end() ? nullptr : &found->second;
}

bool OwnSmBlocks::has_sample(const RunningLaunch& launch) const {
  const Seen* seen = find(launch);
  return is_remembered(launch) || (seen != nullptr && seen->best().ended > 0);
}

bool OwnSmBlocks::has_certain_sample(const RunningLaunch& launch) const {
  const Seen* seen = find(launch);
  return is_remembered(launch) || (seen != nullptr && seen->own.ended > 0);
}

Duration OwnSmBlocks::remaining(const RunningLaunch& launch) const {
  GPUSHARE_EXPECT(has_sample(launch), "what remains is asked for after the first block has ended");
  const double* known = known_ns_.peek(key(launch));
  const double block_ns = known != nullptr ? *known : find(launch)->best().latest_ns;
  const double at_a_time = static_cast<double>(launch.max_residency) * static_cast<double>(sms_.size());
  return Duration(static_cast<Duration::rep>(block_ns * static_cast<double>(launch.unfinished()) / at_a_time));
}

}  // namespace gpushare
