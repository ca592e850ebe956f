// SPDX-License-Identifier: Apache-2.0
// The part of SimulatedGpu that says when a plan takes effect, and for whom.
#include <algorithm>
#include <iterator>
#include <utility>

#include "core/model/errors.hpp"
#include "core/simulation/simulated_gpu.hpp"

namespace gpushare {
namespace {

bool same_everywhere(const Quota& one, const Quota& other, int sms) {
  for (int sm = 0; sm < sms; ++sm) {
    if (one.at(static_cast<SmId>(sm)) != other.at(static_cast<SmId>(sm))) return false;
  }
  return true;
}

}  // namespace

// Of two plans at one instant only the second takes effect, as where a launch ends and its application's next one
// comes.
void SimulatedGpu::apply(const Plan& plan) {
  const Duration delay = device_.delays.signal;
  SentPlan sent{.plan = plan, .at = now_, .launches = submitted_};
  if (delay == Duration::zero()) return make_effective(sent);
  if (!plans_on_their_way_.empty() && plans_on_their_way_.back().at == now_) {
    plans_on_their_way_.back() = std::move(sent);
    return;
  }
  plans_on_their_way_.push_back(std::move(sent));
  timers_.add(now_ + nanoseconds(delay), PlanArrived{});
}

void SimulatedGpu::make_effective(const SentPlan& sent) {
  const std::vector<Ranked> before = std::exchange(ranks_, {});
  for (const Share& share : sent.plan.shares) {
    if (ActiveLaunch* launch = find(share.launch)) launch->is_admitted = false;
  }
  std::ranges::copy_if(before, std::back_inserter(ranks_), [](const Ranked& old) { return old.launch->is_admitted; });
  heard_ = sent.launches;
  for (const Share& share : sent.plan.shares) {
    ActiveLaunch* launch = find(share.launch);
    if (launch == nullptr) continue;  // never submitted here
    launch->workers.bring(share.quota);
    ranks_.push_back({.launch = launch, .quota = share.quota, .leaves_rest = share.leaves_rest});
    if (share.quota.largest() == 0 || !launch->evicted()) continue;
    launch->ready_at = now_ + nanoseconds(device_.delays.relaunch);
    timers_.add(launch->ready_at, LaunchReady{});
  }
  keep_places(before);
  for (const Ranked& rank : before) rank.launch->has_quota = false;
  for (const Ranked& rank : ranks_) rank.launch->has_quota = rank.quota.largest() > 0;
  dispatch_all_ = true;
}

/// It may have taken over a place, which is not all that it can have.
void SimulatedGpu::admit(OperationId operation) {
  ActiveLaunch* launch = find(operation);
  GPUSHARE_EXPECT(launch != nullptr, "what is admitted has been submitted");
  std::erase_if(ranks_, [launch](const Ranked& ranked) { return ranked.launch == launch; });
  const auto behind = std::ranges::find_if(ranks_, [](const Ranked& other) { return !other.launch->is_admitted; });
  const Quota full = Quota::everywhere(launch->max_residency);
  ranks_.insert(behind, {.launch = launch, .quota = full});
  launch->workers.bring(full);
  launch->is_admitted = launch->has_quota = true;
  dispatch_all_ = true;
}

/// Who has taken over a place since the plan was sent still has it, behind the others: they hold theirs already.
void SimulatedGpu::keep_places(const std::vector<Ranked>& before) {
  const auto planned = static_cast<std::ptrdiff_t>(ranks_.size());
  for (const Ranked& old : before) {
    if (old.launch->is_admitted) continue;
    if (old.launch->number >= heard_) {
      ranks_.push_back(old);
    } else if (old.launch->started > 0) {
      const auto end = ranks_.begin() + planned;
      const auto now = std::ranges::find(ranks_.begin(), end, old.launch, &Ranked::launch);
      old.launch->was_moved |= now == end || !same_everywhere(old.quota, now->quota, device_.sms);
    }
  }
}

/// Of those that the plan in force could have given one.
bool SimulatedGpu::all_have_a_share() const {
  return std::ranges::all_of(
      unended_, [this](const ActiveLaunch* launch) { return launch->has_quota || launch->number >= heard_; });
}

/// Where a launch has no share, it may be the one to come next.
void SimulatedGpu::let_next_follow(const ActiveLaunch& ended) {
  const double delay = nanoseconds(device_.delays.follow);
  if (delay == 0 || ended.is_admitted || !ended.may_be_followed(now_, nanoseconds(device_.delays.signal)) ||
      !all_have_a_share())
    return;
  const auto rank = std::ranges::find(ranks_, &ended, &Ranked::launch);
  if (rank == ranks_.end()) return;
  in_line_.leave_place(ended.application,
                       {.quota = rank->quota, .leaves_rest = rank->leaves_rest, .free_at = now_ + delay});
}

}  // namespace gpushare
