// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch/gpu_launch.hpp"

#include <cstdlib>

#include "core/model/residency.hpp"

namespace gpushare {
namespace {

/// A policy need not know of changes by less than this part of what is left, or of what is on the device at a time.
constexpr int least_change = 16;

}  // namespace

GpuLaunch::GpuLaunch(const Device& device, const Submission& submission, const LaunchTraits& traits, ExecutionMode mode,
                     const HardwareGrids& grids)
    : share_(device.sms, traits.max_residency),
      progress_(submission.application, submission.id, traits.blocks, device.sms),
      submission_(submission),
      traits_(traits),
      mode_(mode),
      grids_(grids),
      told_expected_(traits.blocks) {}

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

void GpuLaunch::tell_expected(Time now, std::vector<Event>& events) {
  if (traits_.part == nullptr || is_withdrawn_ || has_ended()) return;
  const int places = traits_.max_residency * static_cast<int>(share_.wanted().size());
  const std::int64_t expected = traits_.part->expected({.claimed = traits_.blocks - progress_.unclaimed(),
                                                        .workers = progress_.workers(),
                                                        .places = places,
                                                        .block_time = progress_.block_time()});
  const std::int64_t change = std::abs(expected - told_expected_);
  const std::int64_t at_a_time = std::min<std::int64_t>(traits_.blocks, places);
  const bool is_small = least_change * change < std::max(expected - progress_.done(), at_a_time);
  if (change == 0 || (is_small && !traits_.part->is_exhausted())) return;
  told_expected_ = expected;
  events.push_back({.time = now,
                    .block = expected,
                    .application = submission_.application,
                    .operation = submission_.id,
                    .kind = EventKind::BlocksExpected});
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
