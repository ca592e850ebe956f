// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/launches/ranked_launches.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpushare {
namespace {

bool same_everywhere(const Quota& one, const Quota& other, int sms) {
  for (int sm = 0; sm < sms; ++sm) {
    if (one.at(static_cast<SmId>(sm)) != other.at(static_cast<SmId>(sm))) return false;
  }
  return true;
}

Quota at_most(const Quota& quota, int most, int sms) {
  if (quota.is_uniform()) return Quota::everywhere(std::min(quota.largest(), most));
  std::vector<int> blocks;
  for (int sm = 0; sm < sms; ++sm) blocks.push_back(std::min(quota.at(static_cast<SmId>(sm)), most));
  return Quota::per_sm(std::move(blocks));
}

}  // namespace

const RankedLaunches::Ranked* RankedLaunches::find(const ActiveLaunch& launch) const {
  const auto rank = std::ranges::find(ranks_, &launch, &Ranked::launch);
  return rank != ranks_.end() ? &*rank : nullptr;
}

std::vector<ActiveLaunch*> RankedLaunches::apply(const Plan& plan, std::uint64_t known,
                                                 const std::function<ActiveLaunch*(OperationId)>& find) {
  const std::vector<Ranked> before = std::exchange(ranks_, {});
  for (const Share& share : plan.shares) {
    if (ActiveLaunch* launch = find(share.launch)) launch->is_admitted = false;
  }
  std::ranges::copy_if(before, std::back_inserter(ranks_), [](const Ranked& old) { return old.launch->is_admitted; });
  known_ = known;
  std::vector<ActiveLaunch*> come_back;
  for (const Share& share : plan.shares) {
    ActiveLaunch* launch = find(share.launch);
    if (launch == nullptr) continue;  // never submitted here
    launch->workers.bring(share.quota);
    ranks_.push_back({.launch = launch, .quota = share.quota, .leaves_rest = share.leaves_rest});
    if (share.quota.largest() > 0 && launch->evicted()) come_back.push_back(launch);
  }
  keep_successors(before);
  for (const Ranked& rank : before) rank.launch->has_quota = false;
  for (const Ranked& rank : ranks_) rank.launch->has_quota = rank.quota.largest() > 0;
  return come_back;
}

/// A launch that has succeeded another one since the plan was sent keeps its rank, behind all launches of the plan,
/// which hold their SMs already.
void RankedLaunches::keep_successors(const std::vector<Ranked>& before) {
  const auto planned = static_cast<std::ptrdiff_t>(ranks_.size());
  for (const Ranked& old : before) {
    if (old.launch->is_admitted) continue;
    if (old.launch->number >= known_) {
      ranks_.push_back(old);
    } else if (old.launch->started > 0) {
      const auto end = ranks_.begin() + planned;
      const auto now = std::ranges::find(ranks_.begin(), end, old.launch, &Ranked::launch);
      old.launch->was_moved |= now == end || !same_everywhere(old.quota, now->quota, sms_);
    }
  }
}

void RankedLaunches::admit(ActiveLaunch& launch) {
  remove(launch);
  const auto behind = std::ranges::find_if(ranks_, [](const Ranked& other) { return !other.launch->is_admitted; });
  const Quota full = Quota::everywhere(launch.max_residency);
  ranks_.insert(behind, {.launch = &launch, .quota = full});
  launch.workers.bring(full);
  launch.is_admitted = launch.has_quota = true;
}

void RankedLaunches::succeed(ActiveLaunch& launch, const QueuedSuccessors::Vacancy& vacancy) {
  ranks_.push_back({.launch = &launch,
                    .quota = at_most(vacancy.quota, launch.max_residency, sms_),
                    .leaves_rest = vacancy.leaves_rest});
  launch.workers.bring(ranks_.back().quota);
  launch.has_quota = true;
}

void RankedLaunches::remove(const ActiveLaunch& launch) {
  std::erase_if(ranks_, [&launch](const Ranked& ranked) { return ranked.launch == &launch; });
}

bool RankedLaunches::all_have_a_share(std::span<ActiveLaunch* const> launches) const {
  return std::ranges::all_of(
      launches, [this](const ActiveLaunch* launch) { return launch->has_quota || launch->number >= known_; });
}

}  // namespace gpushare
