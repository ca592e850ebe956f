// SPDX-License-Identifier: Apache-2.0
#include "cuda/followers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpushare::cuda {

std::optional<Submission> Followers::take_announced(ApplicationId application) {
  const auto found = announced_.find(application);
  if (found == announced_.end()) return std::nullopt;
  const Submission next = found->second;
  announced_.erase(found);
  return next;
}

void Followers::keep(std::unique_ptr<LaunchOnGpu> follower, OperationId leader) {
  if (follower) started_.push_back({std::move(follower), leader});
}

std::unique_ptr<LaunchOnGpu> Followers::take_started(OperationId operation) {
  const auto found =
      std::ranges::find(started_, operation, [](const Started& each) { return each.launch->submission().id; });
  if (found == started_.end()) return nullptr;
  std::unique_ptr<LaunchOnGpu> launch = std::move(found->launch);
  started_.erase(found);
  return launch;
}

void Followers::send_away(std::unique_ptr<LaunchOnGpu> follower, OperationId leader, Time now) {
  if (!follower) return;
  follower->withdraw(now);
  follower->evict(now);
  leaving_.push_back({std::move(follower), leader});
}

void Followers::send_away_behind(OperationId leader, Time now) {
  const auto found = std::ranges::find(started_, leader, &Started::leader);
  if (found == started_.end()) return;
  std::unique_ptr<LaunchOnGpu> launch = std::move(found->launch);
  started_.erase(found);
  send_away(std::move(launch), leader, now);
}

bool Followers::is_leaving_behind(OperationId leader) const {
  return std::ranges::find(leaving_, leader, &Started::leader) != leaving_.end();
}

bool Followers::is_leaving(OperationId follower) const {
  return std::ranges::any_of(leaving_,
                             [follower](const Started& each) { return each.launch->submission().id == follower; });
}

void Followers::stop_started(Time now) {
  for (const Started& each : started_) each.launch->evict(now);
}

bool Followers::are_off_hardware() const {
  const auto is_off = [](const Started& each) { return each.launch->is_off_hardware(); };
  return std::ranges::all_of(started_, is_off) && std::ranges::all_of(leaving_, is_off);
}

bool Followers::collect(Time now) {
  std::vector<gpushare::Event> unheard;
  return std::erase_if(leaving_, [&](const Started& each) {
           each.launch->collect(now, unheard);
           return each.launch->hardware().empty();
         }) > 0;
}

std::vector<Followers::Started> Followers::take_all() {
  std::vector<Started> all = std::exchange(started_, {});
  std::ranges::move(std::exchange(leaving_, {}), std::back_inserter(all));
  return all;
}

}  // namespace gpushare::cuda
