// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/program_sharing.hpp"

#include <algorithm>

#include "core/policy_support/ranking.hpp"

namespace gpushare {
namespace {

/// Blocks of most libraries are shorter; a token of a language model takes as long.
constexpr Duration long_block(500'000);
/// For each program. The kernels under way have to end before others begin, and a program that goes on has to launch
/// again: both take about a millisecond.
constexpr Duration turn_length(20'000'000);

bool has_long_blocks(const RunningLaunch& launch) {
  return launch.launch->kernel.program_block.value_or(Duration{}) >= long_block;
}

int highest_priority(const State& state) {
  int highest = 0;
  for (const RunningLaunch& launch : state.running()) highest = std::max(highest, launch.priority);
  return highest;
}

/// Where not all fit, each is on one SM only, always the same one: a program that has an SM is not held.
Quota quota_of(const RunningLaunch& launch, const State& state) {
  if (state.running().size() <= static_cast<std::size_t>(launch.max_residency)) return full_quota(launch);
  std::vector<int> quota(static_cast<std::size_t>(state.sms()), 0);
  quota[index(launch.application) % quota.size()] = launch.max_residency;
  return Quota::per_sm(std::move(quota));
}

}  // namespace

/// That of short blocks first, then by application. Programs with a priority take no turns.
std::vector<ProgramSharing::Turn> ProgramSharing::turns(const State& state) {
  const int highest = highest_priority(state);
  Turn together;
  std::vector<Turn> found;
  for (const RunningLaunch* launch : sorted_by(state, [](const auto& each) { return each.application; })) {
    if (launch->priority > 0) continue;
    if (!has_long_blocks(*launch)) {
      together.launches.push_back(launch);
    } else if (highest <= 0) {
      found.push_back({.owner = launch->application, .launches = {launch}});
    }
  }
  if (!together.launches.empty()) found.insert(found.begin(), std::move(together));
  return found;
}

void ProgramSharing::observe(const Event& event, const State& state) {
  const std::vector<Turn> present = turns(state);
  const auto own = std::ranges::find(present, owner_, &Turn::owner);
  if (own != present.end() && event.time < turn_ends_) return;
  if (present.empty()) return;
  const auto next = std::ranges::find_if(present, [this](const Turn& each) { return each.owner > owner_; });
  const Turn& chosen = next == present.end() ? present.front() : *next;
  owner_ = chosen.owner;
  turn_ends_ = event.time + turn_length * static_cast<std::int64_t>(chosen.launches.size());
}

Plan ProgramSharing::plan(const State& state) const {
  const std::vector<Turn> present = turns(state);
  Plan plan;
  for (const RunningLaunch* launch : sorted_by(state, [](const auto& each) { return -each.priority; })) {
    if (launch->priority <= 0) continue;
    const bool is_held = has_long_blocks(*launch) && launch->priority < highest_priority(state);
    if (!is_held) plan.shares.push_back({.launch = launch->id, .quota = quota_of(*launch, state)});
  }
  for (const Turn& each : present) {
    if (present.size() > 1 && each.owner != owner_) continue;
    for (const RunningLaunch* launch : each.launches) {
      plan.shares.push_back({.launch = launch->id, .quota = quota_of(*launch, state)});
    }
  }
  if (present.size() > 1) plan.wake_at = turn_ends_;
  return plan;
}

bool UnlessOfPrograms::admits(const RunningLaunch& launch, const State& state) {
  are_programs_ = are_programs_ || launch.launch->kernel.program_block;
  return !are_programs_ && policy_->admits(launch, state);
}

void UnlessOfPrograms::observe(const Event& event, const State& state) {
  if (event.kind == EventKind::LaunchArrived) {  // admits() is not asked for launches of the time before this policy
    are_programs_ = are_programs_ || state.find(event.operation)->launch->kernel.program_block;
  }
  are_programs_ ? programs_.observe(event, state) : policy_->observe(event, state);
}

}  // namespace gpushare
