// SPDX-License-Identifier: Apache-2.0
// The part of WorkerLaunch that queues the application's next launch in hardware behind this one.
#include "cuda/short_launches.hpp"
#include "cuda/worker_launch.hpp"

namespace gpushare::cuda {

bool WorkerLaunch::may_be_followed() const {
  return will_stay_ && !follower_ && !hardware_.empty() && progress_.done() > 0 && !progress_.finished();
}

// One in its original form is handed to the hardware when this one has ended: only then are its SMs free.
void WorkerLaunch::put_behind(const Submission& next, const DeviceLaunch& code, Time now) {
  if (!can_be_workers(code)) return;
  const int residency = residency_of(resources_.device, next);
  const auto sms = whole_sms(wanted_, max_residency_);
  if (sms && way_for_short(resources_, code, residency, *sms, whole_up_to_)) return;
  auto follower = std::make_unique<WorkerLaunch>(resources_, next, code);
  follower->start_behind(*this, now);
  if (follower->slot_) follower_ = std::move(follower);
}

void WorkerLaunch::start_behind(WorkerLaunch& leader, Time now) {
  rank_ = leader.rank_;
  open_sms_ = leader.open_sms_;
  std::vector<int> workers;
  for (const WorkerOrder& order : leader.orders_) workers.push_back(std::min<int>(order.quota, max_residency_));
  take_orders(workers);
  place(now);
  if (!slot_) return;
  std::vector<CUevent> behind = leader.hardware_.mark_ends();
  behind.push_back(resources_.tables.written(*slot_));
  launch_workers(leader.hardware_.level(), behind);
}

// Before any order that lets workers of this launch leave, and before more of them are launched: the writes are in one
// stream, so a successor that could start too early finds the zeros.
void WorkerLaunch::stop_follower() {
  if (follower_) follower_->take_orders(std::vector<int>(orders_.size(), 0));
}

std::unique_ptr<LaunchOnGpu> WorkerLaunch::take_follower() {
  if (!ended()) stop_follower();
  return std::move(follower_);
}

}  // namespace gpushare::cuda
