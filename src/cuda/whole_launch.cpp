// SPDX-License-Identifier: Apache-2.0
#include "cuda/whole_launch.hpp"

#include <algorithm>

namespace gpushare::cuda {
namespace {

/// Reported on the last SMs.
WholeWay anywhere(const LaunchResources& resources, const DeviceLaunch& code, std::int64_t sms) {
  WholeWay way{.function = code.kernel->original()};
  for (std::int64_t sm = resources.device.sms - sms; sm < resources.device.sms; ++sm) {
    way.sms.push_back(static_cast<SmId>(sm));
  }
  return way;
}

}  // namespace

WholeLaunch::WholeLaunch(LaunchResources& resources, const Submission& submission, const DeviceLaunch& code)
    : LaunchOnGpu(resources, submission, code), way_(anywhere(resources, code, resources.device.sms)) {}

WholeLaunch::WholeLaunch(LaunchResources& resources, const Submission& submission, const DeviceLaunch& code,
                         WholeWay way)
    : LaunchOnGpu(resources, submission, code, way.streams), way_(std::move(way)) {}

// The places of its blocks are unknown: until it has ended, it lacks the room for all that it may have. A short one
// counts as workers that have not been polled yet.
RoomClaim WholeLaunch::claim() const {
  const std::int64_t blocks = launched_ || !is_stopped() ? count(code_.grid) : 0;
  return {.block = footprint_,
          .wanted = wanted_,
          .present = std::vector<int>(wanted_.size()),
          .unclaimed = progress_.finished() ? 0 : blocks,
          .split = split_,
          .is_seen = way_.is_fleeting && !is_overdue_,
          .is_fleeting = way_.is_fleeting && !is_overdue_};
}

void WholeLaunch::hand_to_hardware(int level, Time now) {
  hardware_.launch(way_.function, code_.grid, code_, {}, level, {});
  launched_ = true;
  start_ = since_ = now;
}

bool WholeLaunch::collect(Time now, std::vector<gpushare::Event>& events) {
  if (!launched_) return false;
  if (!is_reported_) progress_.start_whole(way_.sms, start_, events);
  is_reported_ = true;
  is_overdue_ = now - start_ > way_.longest;
  if (!hardware_.collect()) return false;
  end_ = now;
  const std::int64_t at_a_time = std::min(count(code_.grid), places());
  const Duration block_time = (end_ - start_) * at_a_time / count(code_.grid);
  progress_.end_whole(block_time, end_, events);
  if (is_overdue_ && start_ > Time{}) doubt_time_of(block_time);
  return true;
}

/// The next launch of the kernel should be preemptible.
void WholeLaunch::doubt_time_of(Duration block_time) {
  if (way_.is_fleeting) {
    resources_.doubtful.add(code_.kernel->id());
  } else if (way_.longest > Duration{}) {
    resources_.block_times[code_.kernel->id()] = block_time;
  }
}

bool WholeLaunch::may_be_followed() const {
  return way_.longest > Duration{} && !is_overdue_ && is_reported_ && !follower_ && !hardware_.empty() &&
         !is_withdrawn_ && is_where_wanted();
}

void WholeLaunch::put_behind(const Submission& next, const DeviceLaunch& code, Time /*now*/) {
  auto way = way_to_run_whole(resources_, code, residency_of(resources_.device, next), way_.wanted, whole_up_to_);
  if (!way) return;
  follower_ = std::make_unique<WholeLaunch>(resources_, next, code, *std::move(way));
  follower_->take_share_of(*this);
  follower_->hardware_.launch(follower_->way_.function, code.grid, code, {}, hardware_.level(), hardware_.mark_ends());
  follower_->launched_ = follower_->has_quota_ = true;
}

std::unique_ptr<LaunchOnGpu> WholeLaunch::in_other_way() const {
  if (launched_ || !can_be_workers(code_)) return nullptr;
  if (is_where_wanted() && way_to_run_whole(resources_, code_, max_residency_, way_.wanted, whole_up_to_))
    return nullptr;
  std::unique_ptr<LaunchOnGpu> workers = make_launch(resources_, submission_, code_);
  workers->take_share_of(*this);
  return workers;
}

WholeWay way_on_kept_room(const LaunchResources& resources, const DeviceLaunch& code, int max_residency) {
  const std::int64_t sms = (count(code.grid) + max_residency - 1) / max_residency;
  return anywhere(resources, code, std::min<std::int64_t>(sms, resources.device.sms));
}

std::unique_ptr<LaunchOnGpu> whole_instead_of(const LaunchOnGpu& launch) {
  if (launch.has_begun() || !can_be_workers(launch.code())) return nullptr;
  const std::optional<std::vector<SmId>> sms = whole_sms(launch.wanted(), launch.max_residency());
  if (!sms) return nullptr;
  auto way = way_to_run_whole(launch.resources(), launch.code(), launch.max_residency(), *sms, launch.whole_up_to());
  if (!way) return nullptr;
  auto whole = std::make_unique<WholeLaunch>(launch.resources(), launch.submission(), launch.code(), *std::move(way));
  whole->take_share_of(launch);
  return whole;
}

}  // namespace gpushare::cuda
