// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/original_launch.hpp"

#include <algorithm>

namespace gpushare::cuda {

OriginalLaunch::OriginalLaunch(LaunchFactory& factory, const Submission& submission, const LaunchTraits& traits,
                               const DeviceLaunch& code, OriginalSetup setup)
    : GpuLaunch(factory.device(), submission, traits, ExecutionMode::Original, grids_),
      factory_(factory),
      code_(code),
      setup_(std::move(setup)),
      wanted_sms_(setup_.wanted.empty() ? std::nullopt : std::optional(setup_.wanted)),
      grids_(setup_.streams ? *setup_.streams : factory.resources().streams, factory.resources().completions) {
  is_brief_ = setup_.is_brief;
}

// The places of its blocks are unknown: until it has ended, it lacks the room for all that it may have. A brief one
// counts as workers that have not been polled yet.
ResidencyRequest OriginalLaunch::request() const {
  const std::int64_t blocks = has_begun() || !is_stopped() ? traits().blocks : 0;
  const bool is_brief = setup_.is_brief && !is_overdue_;
  return {.block = traits().block,
          .wanted = share_.wanted(),
          .present = std::vector<int>(share_.wanted().size()),
          .unclaimed = progress_.finished() ? 0 : blocks,
          .split = traits().split,
          .is_seen = is_brief,
          .is_brief = is_brief};
}

void OriginalLaunch::launch(int level, std::span<const CUevent> behind) {
  grids_.launch(setup_.function, code_.grid, code_, {}, level, behind);
  take(LaunchStep::Started);
}

void OriginalLaunch::hand_to_hardware(int level, Time now) {
  launch(level, {});
  start_ = since_ = now;
}

// A brief launch starts with all its blocks at once; a longer one may have waited in hardware for each of the others.
bool OriginalLaunch::collect(Time now, std::vector<gpushare::Event>& events) {
  if (!has_begun()) return false;
  if (!is_reported_) progress_.start_whole(setup_.sms, start_, events);
  is_reported_ = true;
  is_overdue_ = now - start_ > setup_.longest * (setup_.is_brief ? 1 : sharers_);
  if (!grids_.collect()) return false;
  end_ = now;
  was_steady_ = is_where_wanted();
  progress_.end_whole(block_time_since(start_), end_, events);
  learn_time();
  take(LaunchStep::GridsEnded);
  take(LaunchStep::Ended);
  return true;
}

Duration OriginalLaunch::block_time_since(Time start) const {
  const std::int64_t places = traits().max_residency * static_cast<std::int64_t>(setup_.sms.size());
  return (end_ - start) * std::min(traits().blocks, places) / traits().blocks;
}

/// The next launch of a kernel that took too long should be preemptible. Where the kernel has no worker, this is all
/// that shows its time.
void OriginalLaunch::learn_time() {
  KernelHistory& history = factory_.history();
  const bool took_too_long = was_chosen() && is_overdue_ && start_ > Time{};
  if (setup_.is_brief) {
    if (took_too_long) history.mispredicted(traits().kernel);
  } else if (took_too_long || !traits().has_worker) {
    history.set_block_time(traits().kernel, block_time_since(since_));
  }
}

bool OriginalLaunch::accepts_successor() const {
  return was_chosen() && !is_overdue_ && is_reported_ && !successor_ && !grids_.empty() && !is_withdrawn_ &&
         is_where_wanted();
}

void OriginalLaunch::queue_successor(const Submission& next, Time /*now*/) {
  const auto* code = std::get_if<DeviceLaunch>(&factory_.operation_of(next));
  if (code == nullptr) return;
  const LaunchTraits next_traits = factory_.traits_of(next, *code);
  auto setup = factory_.setup_for(next_traits, *code, wanted_sms_, share_.original_up_to());
  if (!setup) return;
  auto launch = std::make_unique<OriginalLaunch>(factory_, next, next_traits, *code, *std::move(setup));
  launch->share_ = share_;
  launch->sharers_ = sharers_;
  launch->launch(grids_.level(), grids_.mark_ends());
  launch->may_start_ = true;
  successor_ = std::move(launch);
}

}  // namespace gpushare::cuda
