// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/fault_report.hpp"

#include <algorithm>

namespace gpushare {
namespace {

void add_begun(const GpuLaunch& launch, std::vector<BegunOperation>& all) {
  if (!launch.grids().had_any()) return;
  const bool is_off = launch.grids().have_ended();
  all.push_back({launch.id(), is_off ? Stage::OffDevice : Stage::OnDevice});
  if (is_off && launch.successor() != nullptr) add_begun(*launch.successor(), all);
}

}  // namespace

std::vector<BegunOperation> begun_launches(std::span<const std::unique_ptr<GpuLaunch>> launches,
                                           const std::unordered_map<OperationId, OperationId>& leader_of,
                                           const Successors& successors) {
  std::vector<BegunOperation> all;
  const auto is_on_hardware = [launches](OperationId leader) {
    return std::ranges::any_of(
        launches, [leader](const auto& launch) { return launch->id() == leader && !launch->grids().have_ended(); });
  };
  for (const auto& launch : launches) {
    const auto leader = leader_of.find(launch->id());
    if (leader == leader_of.end() || !is_on_hardware(leader->second)) add_begun(*launch, all);
  }
  for (const QueuedSuccessor& each : successors.queued()) add_begun(*each.launch, all);
  for (const QueuedSuccessor& each : successors.leaving()) {
    if (!is_on_hardware(each.leader)) add_begun(*each.launch, all);
  }
  return all;
}

}  // namespace gpushare
