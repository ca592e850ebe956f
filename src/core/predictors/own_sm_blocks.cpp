// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/own_sm_blocks.hpp"

#include <algorithm>
#include <utility>

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

/// Decisions cost time, and change little in less.
constexpr Duration between_looks{50'000};

}  // namespace

void OwnSmBlocks::Blocks::add(double blocks, double block_ns, double fades_after) {
  const double weight = ended == 0 ? 1 : blocks / (blocks + fades_after);
  latest_ns += weight * (block_ns - latest_ns);
  busy_ns += blocks * block_ns;
  ended += blocks;
}

void OwnSmBlocks::observe(const Event& event, const State& state) {
  changed_ = false;
  sms_.resize(static_cast<std::size_t>(state.sms()));
  if (event.kind == EventKind::LaunchArrived) arrive(*state.find(event.operation));
  if (event.kind == EventKind::LaunchEnded) seen_of(event.operation) = {};
  if (event.kind == EventKind::BlockStarted) sms_[index(event.sm)].resident += event.blocks;
  if (event.kind != EventKind::BlockEnded) return;
  const RunningLaunch& launch = *state.find(event.operation);
  add(event, launch);
  if (launch.unfinished() == 0) remember(launch, state);
}

OwnSmBlocks::Seen& OwnSmBlocks::seen_of(OperationId launch) {
  if (launches_.size() <= index(launch)) launches_.resize(index(launch) + 1);
  return launches_[index(launch)];
}

void OwnSmBlocks::arrive(const RunningLaunch& launch) {
  Seen& seen = seen_of(launch.id) = {};
  seen.reported.resize(sms_.size());
  const double* known_ns = known_ns_.peek(name_and_threads(launch.launch->kernel));
  if (known_ns != nullptr) seen.known_ns = *known_ns;
}

// A group that is reported together holds all blocks that have ended since the report before, and has their mean
// duration.
bool OwnSmBlocks::had_own_sm(const Event& ended, const RunningLaunch& launch, Time reported) {
  Sm& sm = sms_[index(ended.sm)];
  sm.resident -= ended.blocks;
  const bool is_crowded = sm.resident > launch.per_sm[index(ended.sm)].resident;
  if (is_crowded) sm.crowded = ended.time;
  const Time first_began = ended.blocks > 1 ? std::min(ended.started, reported) : ended.started;
  return !is_crowded && first_began >= sm.crowded;
}

void OwnSmBlocks::add(const Event& ended, const RunningLaunch& launch) {
  Seen& seen = seen_of(launch.id);
  seen.reported.resize(sms_.size());
  Time& reported = seen.reported[index(ended.sm)];
  const bool is_own = had_own_sm(ended, launch, std::exchange(reported, ended.time));
  Blocks& blocks = is_own ? seen.own : seen.crowded;
  const bool is_first = blocks.ended == 0;
  const double all_at_once = static_cast<double>(launch.max_residency) * static_cast<double>(sms_.size());
  blocks.add(static_cast<double>(ended.blocks), nanoseconds(ended.time - ended.started), all_at_once);
  const bool is_due = is_first || ended.time - looked_at_ >= between_looks;
  changed_ = is_due && &blocks == &seen.best() && !seen.known_ns;
  if (changed_) looked_at_ = ended.time;
}

/// Others of the kernel that wait are known now, too.
void OwnSmBlocks::remember(const RunningLaunch& ended, const State& state) {
  const Seen& shown = seen_of(ended.id);
  if (!remembers_ || (shown.known_ns && shown.own.ended == 0)) return;
  const NameAndThreads kernel = name_and_threads(ended.launch->kernel);
  const double mean_ns = known_ns_[kernel] = shown.best().mean_ns();
  for (const RunningLaunch& launch : state.running()) {
    if (launch.id == ended.id || name_and_threads(launch.launch->kernel) != kernel) continue;
    Seen& seen = seen_of(launch.id);
    if (seen.own.ended == 0) seen.known_ns = mean_ns;
  }
}

const OwnSmBlocks::Seen* OwnSmBlocks::find(const RunningLaunch& launch) const {
  return index(launch.id) < launches_.size() ? &launches_[index(launch.id)] : nullptr;
}

bool OwnSmBlocks::has_sample(const RunningLaunch& launch) const {
  const Seen* seen = find(launch);
  return seen != nullptr && (seen->known_ns || seen->best().ended > 0);
}

bool OwnSmBlocks::has_certain_sample(const RunningLaunch& launch) const {
  const Seen* seen = find(launch);
  return seen != nullptr && (seen->known_ns || seen->own.ended > 0);
}

Duration OwnSmBlocks::remaining(const RunningLaunch& launch) const {
  const Seen* seen = find(launch);
  GPUSHARE_EXPECT(seen != nullptr, "what remains is asked for after the first block has ended");
  const double block_ns = seen->known_ns.value_or(seen->best().latest_ns);
  const double at_a_time = static_cast<double>(launch.max_residency) * static_cast<double>(sms_.size());
  return Duration(static_cast<Duration::rep>(block_ns * static_cast<double>(launch.unfinished()) / at_a_time));
}

}  // namespace gpushare
