// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/streaming_multiprocessor.hpp"

#include <algorithm>

namespace gpushare {
namespace {

bool finishes_later(const ResidentBlock& left, const ResidentBlock& right) {
  return left.finish != right.finish ? left.finish > right.finish : left.block > right.block;
}

double end_of(const ResidentGroup& group, double advanced_to) {
  if (group.blocks.empty() || group.rate == 0) return EarliestOf::never;
  return advanced_to + std::max(group.blocks.back().finish - group.progress, 0.0) / group.rate;
}

}  // namespace

void ResidentGroup::add(const ResidentBlock& block) {
  const auto place = std::ranges::find_if(blocks, [&](const auto& other) { return finishes_later(block, other); });
  blocks.insert(place, block);
}

int StreamingMultiprocessor::resident(const ActiveLaunch& launch) const {
  for (const ResidentGroup& group : groups_) {
    if (group.launch == &launch) return group.resident();
  }
  return 0;
}

ResidentGroup& StreamingMultiprocessor::group_of(ActiveLaunch& launch) {
  for (ResidentGroup& group : groups_) {
    if (group.launch == &launch) return group;
  }
  ResidentGroup& group = groups_.emplace_back();
  group.launch = &launch;
  const BlockCost& cost = launch.launch.kernel.cost;
  group.traffic = {.bytes = static_cast<double>(cost.off_sm.count),
                   .llc_hit_ratio = cost.llc_hit_ratio,
                   .dram_cost_ratio = cost.dram_cost_ratio};
  group.blocks.reserve(static_cast<std::size_t>(launch.max_residency));
  return group;
}

void StreamingMultiprocessor::start(ActiveLaunch& launch, int wave, double now, Time started) {
  advance(now);
  room_.take(launch.block);
  ResidentGroup& group = group_of(launch);
  const std::int64_t block = launch.started++;
  const double work = std::max(launch.work_of(block) * launch.stagger(group.started++, wave), launch.least_work());
  group.add({.finish = group.progress + work, .block = block, .started = started});
}

double StreamingMultiprocessor::find_next_end() {
  double earliest = EarliestOf::never;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const double end = end_of(groups_[i], advanced_to_);
    if (end >= earliest) continue;
    earliest = end;
    next_to_end_ = i;
  }
  return earliest;
}

StreamingMultiprocessor::Ended StreamingMultiprocessor::end_first(double now) {
  ResidentGroup& group = groups_[next_to_end_];
  advance(now);
  const ResidentBlock block = group.blocks.back();
  group.blocks.pop_back();
  // Progress would lose precision over millions of blocks; it means nothing while no block is resident.
  if (group.blocks.empty()) group.progress = 0;
  ++group.launch->ended;
  room_.give_back(group.launch->block);
  return {.launch = group.launch, .block = block.block, .started = block.started};
}

bool StreamingMultiprocessor::needs_rates() const {
  return std::ranges::any_of(groups_, [](const auto& group) { return group.resident() != group.rated_blocks; });
}

void StreamingMultiprocessor::drop_empty_groups() {
  std::erase_if(groups_, [](const ResidentGroup& group) { return group.blocks.empty(); });
}

void StreamingMultiprocessor::advance(double now) {
  const double elapsed = now - advanced_to_;
  advanced_to_ = now;
  if (elapsed <= 0) return;
  for (ResidentGroup& group : groups_) group.progress += group.rate * elapsed;
}

}  // namespace gpushare
