// SPDX-License-Identifier: Apache-2.0
// The part of CudaGpu that finds changes: ends on the hardware, and progress in the polled tables.
#include <algorithm>

#include "cuda/cuda_gpu.hpp"
#include "cuda/merge_by_time.hpp"
#include "cuda/short_launches.hpp"

namespace gpushare::cuda {

void CudaGpu::collect(Time time) {
  to_device_.collect(time, events_);
  to_host_.collect(time, events_);
  if (followers_.collect(time)) {
    tell_held_ends(time);
    report_ends(time);
  }
  bool any = false;
  for (const auto& launch : launches_) {
    if (!launch->collect(time, events_)) continue;
    any = true;
    if (launch->is_in_tables()) look_soon();
  }
  if (any) report_ends(time);
}

void CudaGpu::finish_look(Time time) {
  resources_.tables.end_look();
  // Ends come first: they are reported with their times, and time does not go back.
  std::ranges::stable_partition(launches_, [](const auto& launch) { return launch->hardware().empty(); });
  const std::size_t first = events_.size();  // starts lie in the past
  for (const auto& launch : launches_) {
    const std::size_t seen = events_.size();
    launch->look(look_started_, time, events_);
    merge_by_time(events_, first, seen);
  }
  const std::size_t seen = events_.size();
  report_ends(time);
  merge_by_time(events_, first, seen);
  if (launches_.size() > 1 || (room_is_kept_ && !resources_.tables.room_for_look())) make_room(time);
  look_ended_ = time;
  look_wait_ = std::min(2 * look_wait_, longest_wait);
}

void CudaGpu::report_ends(Time time) {
  const auto has_ended = [this](const std::unique_ptr<LaunchOnGpu>& launch) {
    return launch->ended() && !followers_.is_leaving_behind(launch->submission().id);
  };
  for (const auto& launch : launches_) {
    if (has_ended(launch)) learn_pace(*launch);
  }
  std::erase_if(launches_, [&](const std::unique_ptr<LaunchOnGpu>& launch) {
    if (!has_ended(launch)) return false;
    const Submission& submission = launch->submission();
    launch->close(events_);
    events_.push_back({.time = std::min(time, launch->end()),
                       .application = submission.application,
                       .operation = submission.id,
                       .kind = EventKind::LaunchEnded});
    std::unique_ptr<LaunchOnGpu> follower = launch->take_follower();
    if (follower) follower->came_after(launch->end());
    followers_.keep(std::move(follower), submission.id);
    return true;
  });
}

/// The time of a launch in a row is valid where no other launch was on its SMs, and where it did not run in its
/// original form only because it is short.
void CudaGpu::learn_pace(const LaunchOnGpu& launch) {
  if (launch.is_fleeting()) return;
  const auto sms = whole_sms(launch.wanted(), launch.max_residency());
  if (!sms || !can_be_workers(launch.code())) return;
  const auto has_some = [&](const LaunchOnGpu& other) {
    return std::ranges::any_of(*sms, [&](SmId sm) { return other.wanted()[index(sm)] > 0; });
  };
  const bool is_alone_there =
      std::ranges::none_of(launches_, [&](const auto& other) { return other.get() != &launch && has_some(*other); });
  resources_.paces.add(launch.code().kernel->id(), sms->size(), launch.way(),
                       is_alone_there ? launch.time_in_a_row() : std::nullopt, count(launch.code().grid));
}

void CudaGpu::start_look(Time time) {
  if (resources_.tables.is_looking()) return;
  const bool any_settling = std::ranges::any_of(launches_, [](const auto& launch) { return launch->is_settling(); });
  const bool any_on_hardware = std::ranges::any_of(
      launches_, [](const auto& launch) { return launch->is_in_tables() && !launch->hardware().empty(); });
  if (!any_settling && !any_on_hardware) return;
  // The policy processes the last poll for a while. Where a launch waits, the next poll runs meanwhile.
  const Duration wait = !any_settling ? look_wait_ : events_.empty() ? shortest_wait : Duration{};
  if (time - look_ended_ < wait) return;
  resources_.tables.start_look();
  look_started_ = time;
}

}  // namespace gpushare::cuda
