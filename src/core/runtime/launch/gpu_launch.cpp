// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch/gpu_launch.hpp"

#include "core/model/residency.hpp"

namespace gpushare {

GpuLaunch::GpuLaunch(const Device& device, const Submission& submission, const LaunchTraits& traits, ExecutionMode mode,
                     const HardwareGrids& grids)
    : share_(device.sms, traits.max_residency),
      progress_(submission.application, submission.id, traits.blocks, device.sms),
      submission_(submission),
      traits_(traits),
      mode_(mode),
      grids_(grids) {}

void GpuLaunch::set_share(const Share& share, int rank) {
  if (is_withdrawn_) {
    share_.set({.quota = Quota::nowhere()}, rank);
  } else {
    share_.set(share, rank);
  }
}

void GpuLaunch::evict(Time now) { grant({.workers = std::vector<int>(share_.wanted().size(), 0)}, now); }

void GpuLaunch::withdraw(Time now) {
  share_.clear();
  is_withdrawn_ = true;
  end_ = now;
  if (has_begun()) return;
  take(LaunchStep::Ended);
  if (traits_.part != nullptr && traits_.part->must_leave()) traits_.part->end();
}

void GpuLaunch::close(std::vector<Event>& events) {
  if (is_withdrawn_ || traits_.part != nullptr) progress_.end_rest(end_, events);
}

bool GpuLaunch::is_off_hardware() const {
  return grids_.have_ended() && (!successor_ || successor_->is_off_hardware());
}

std::unique_ptr<GpuLaunch> GpuLaunch::take_successor(Time now) {
  if (successor_ && !has_ended()) successor_->evict(now);
  return std::move(successor_);
}

void GpuLaunch::came_behind(Time end) {
  since_ = end;
  came_behind_ = true;
}

std::optional<Duration> GpuLaunch::time_in_a_row() const {
  return came_behind_ && was_steady_ ? std::optional(end_ - since_) : std::nullopt;
}

}  // namespace gpushare
