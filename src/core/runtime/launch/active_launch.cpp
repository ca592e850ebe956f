// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch/active_launch.hpp"

#include "core/model/residency.hpp"

namespace gpushare {

ActiveLaunch::ActiveLaunch(const Device& device, const Submission& submission, const LaunchShape& shape,
                           ExecutionMode mode, const HardwareGrids& grids)
    : share_(device.sms, shape.max_residency),
      progress_(submission.application, submission.id, shape.blocks, device.sms),
      submission_(submission),
      shape_(shape),
      mode_(mode),
      grids_(grids) {}

void ActiveLaunch::set_share(const Share& share, int rank) {
  if (is_withdrawn_) {
    share_.set({.quota = Quota::nowhere()}, rank);
  } else {
    share_.set(share, rank);
  }
}

void ActiveLaunch::evict(Time now) { grant({.workers = std::vector<int>(share_.wanted().size(), 0)}, now); }

void ActiveLaunch::withdraw(Time now) {
  share_.clear();
  is_withdrawn_ = true;
  end_ = now;
  if (!has_begun()) take(LaunchStep::Ended);
}

void ActiveLaunch::close(std::vector<Event>& events) {
  if (is_withdrawn_) progress_.end_rest(end_, events);
}

bool ActiveLaunch::is_off_hardware() const {
  return grids_.have_ended() && (!successor_ || successor_->is_off_hardware());
}

std::unique_ptr<ActiveLaunch> ActiveLaunch::take_successor(Time now) {
  if (successor_ && !has_ended()) successor_->evict(now);
  return std::move(successor_);
}

void ActiveLaunch::came_behind(Time end) {
  since_ = end;
  came_behind_ = true;
}

std::optional<Duration> ActiveLaunch::time_in_a_row() const {
  return came_behind_ && was_steady_ ? std::optional(end_ - since_) : std::nullopt;
}

}  // namespace gpushare
