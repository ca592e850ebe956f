// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/successors.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpushare {

std::optional<Submission> Successors::take_announced(ApplicationId application) {
  const auto found = announced_.find(application);
  if (found == announced_.end()) return std::nullopt;
  const Submission next = found->second;
  announced_.erase(found);
  return next;
}

void Successors::keep(std::unique_ptr<GpuLaunch> successor, OperationId leader) {
  if (successor) queued_.push_back({std::move(successor), leader});
}

std::unique_ptr<GpuLaunch> Successors::take_queued(OperationId operation) {
  const auto found =
      std::ranges::find(queued_, operation, [](const QueuedSuccessor& each) { return each.launch->id(); });
  if (found == queued_.end()) return nullptr;
  std::unique_ptr<GpuLaunch> launch = std::move(found->launch);
  queued_.erase(found);
  return launch;
}

void Successors::dismiss(std::unique_ptr<GpuLaunch> successor, OperationId leader, Time now) {
  if (!successor) return;
  successor->withdraw(now);
  successor->evict(now);
  leaving_.push_back({std::move(successor), leader});
}

void Successors::dismiss_behind(OperationId leader, Time now) {
  const auto found = std::ranges::find(queued_, leader, &QueuedSuccessor::leader);
  if (found == queued_.end()) return;
  std::unique_ptr<GpuLaunch> launch = std::move(found->launch);
  queued_.erase(found);
  dismiss(std::move(launch), leader, now);
}

bool Successors::is_leaving_behind(OperationId leader) const {
  return std::ranges::find(leaving_, leader, &QueuedSuccessor::leader) != leaving_.end();
}

bool Successors::is_leaving(OperationId successor) const {
  return std::ranges::any_of(leaving_,
                             [successor](const QueuedSuccessor& each) { return each.launch->id() == successor; });
}

void Successors::evict_queued(Time now) {
  for (const QueuedSuccessor& each : queued_) each.launch->evict(now);
}

bool Successors::are_off_hardware() const {
  const auto is_off = [](const QueuedSuccessor& each) { return each.launch->is_off_hardware(); };
  return std::ranges::all_of(queued_, is_off) && std::ranges::all_of(leaving_, is_off);
}

bool Successors::collect(Time now) {
  std::vector<Event> unreported;
  return std::erase_if(leaving_, [&](const QueuedSuccessor& each) {
           each.launch->collect(now, unreported);
           return each.launch->grids().empty();
         }) > 0;
}

std::vector<QueuedSuccessor> Successors::take_all() {
  std::vector<QueuedSuccessor> all = std::exchange(queued_, {});
  std::ranges::move(std::exchange(leaving_, {}), std::back_inserter(all));
  return all;
}

}  // namespace gpushare
