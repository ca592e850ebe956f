// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/model/errors.hpp"
#include "core/runtime/fault_report.hpp"
#include "core/runtime/launch/mode_selector.hpp"
#include "core/runtime/merge_by_time.hpp"
#include "core/workers/stream_level.hpp"

namespace gpushare {
namespace {

/// An admitted launch is ahead of every rank of a plan.
constexpr int before_all = -1;

}  // namespace

LaunchSet::LaunchSet(LaunchHardware& hardware, DrainRequests& drains, EventBuffer& events, PollSchedule& polls)
    : hardware_(hardware),
      events_(events),
      polls_(polls),
      quiescence_(drains),
      arbiter_(hardware.device()),
      bypass_(hardware.device().runtime) {}

void LaunchSet::submit(const Submission& submission, Time now) {
  successors_.take_announced(submission.application);
  std::unique_ptr<GpuLaunch> queued = successors_.take_queued(submission.id);
  // A launch that has not been queued has no share until a plan gives it one.
  plan_is_due_ |= queued || std::ranges::find(plan_, submission.id, &Share::launch) != plan_.end();
  launches_.push_back(queued ? std::move(queued) : hardware_.make(submission));
  launches_.back()->submitted(now);
  launches_.back()->tell_expected(now, events_.seen());  // others may be at work on its grid
}

// A policy may answer every block of a poll with the same plan. And where a launch ends and the next one of its
// application arrives at once, it decides twice: the first of these plans must not take effect for a microsecond.
void LaunchSet::apply(const std::vector<Share>& plan) {
  if (plan_ == plan) return;
  plan_ = plan;
  plan_is_due_ = true;
}

void LaunchSet::put_into_effect(Time now) {
  static const Share nothing{.quota = Quota::nowhere()};
  plan_is_due_ = false;
  for (const Share& share : plan_) bypass_.take_out(share.launch, launches_);
  for (const auto& launch : launches_) {
    const auto share = std::ranges::find(plan_, launch->id(), &Share::launch);
    if (share == plan_.end() && bypass_.has_admitted(launch->id())) continue;
    bypass_.forget(launch->id());
    launch->set_share(share == plan_.end() ? nothing : *share, static_cast<int>(share - plan_.begin()));
  }
  evict_stopped(now);
  choose_modes();
  const auto sharers = std::ranges::count_if(launches_, [](const auto& launch) { return !launch->is_stopped(); });
  for (const auto& launch : launches_) launch->shared_by(static_cast<int>(sharers));
  make_room(now);
  hand_to_hardware(now);
  polls_.soon();
}

// Their SMs are needed by others, and they get none when residency is shared out, so they need not wait for that.
void LaunchSet::evict_stopped(Time now) {
  for (const auto& launch : launches_) {
    if (launch->is_stopped() && launch->has_begun()) launch->evict(now);
  }
}

/// Until a launch has begun, its mode can change.
void LaunchSet::choose_modes() {
  for (auto& launch : launches_) {
    if (launch->has_begun() || bypass_.has_admitted(launch->id())) continue;
    if (std::unique_ptr<GpuLaunch> other = hardware_.in_better_mode(*launch)) {
      other->set_share(launch->share());
      launch = std::move(other);
    }
  }
}

// The launch runs in its original form: SMs are reserved for it, so the places of its blocks need not be polled. One
// that was queued behind another has begun, perhaps as workers, and continues; and so does a part of a grid.
void LaunchSet::admit(OperationId operation, Time now) {
  const auto is_it = [operation](const auto& each) { return each->id() == operation; };
  const auto launch = std::find_if(launches_.rbegin(), launches_.rend(), is_it);
  GPUSHARE_EXPECT(launch != launches_.rend(), "what is admitted has been submitted");
  const bool has_begun = (*launch)->has_begun();
  const bool stays = has_begun || (*launch)->traits().part != nullptr;
  if (!stays) {
    *launch = hardware_.make_on_reserved_sms(**launch);
    (*launch)->submitted(now);
  }
  (*launch)->set_share({.quota = Quota::everywhere((*launch)->traits().max_residency)}, before_all);
  bypass_.admit(operation, !stays, now);
  if (stays) {
    plan_is_due_ = true;
    return;
  }
  (*launch)->grant({}, now);
  bypass_.wait(std::move(*launch));
  launches_.erase(std::next(launch).base());
  hand_to_hardware(now);
}

// A launch that has begun leaves as if evicted; the poll after that shows its progress.
void LaunchSet::withdraw(OperationId operation, Time now) {
  bypass_.take_out(operation, launches_);
  const auto launch = std::ranges::find(launches_, operation, [](const auto& each) { return each->id(); });
  if (launch == launches_.end()) {
    successors_.dismiss_behind(operation, now);
    // Its end was seen, and is not reported before its successor has left.
    if (successors_.is_leaving_behind(operation)) events_.hold_end_of(operation);
    return;
  }
  successors_.take_announced((*launch)->submission().application);
  successors_.dismiss((*launch)->take_successor(now), operation, now);
  (*launch)->withdraw(now);
  make_room(now);
  report_ends(now);
  polls_.soon();
}

/// Another launch may use the free SMs, even if the plan stays as it is.
void LaunchSet::reported_end(OperationId operation) { plan_is_due_ |= !bypass_.forget(operation); }

void LaunchSet::check_drain(Time now) {
  switch (quiescence_.check(now, [this] { return is_off_hardware(); })) {
    case Quiescence::Action::Drain:
      return drain(now);
    case Quiescence::Action::Resume:
      return put_into_effect(now);
    case Quiescence::Action::None:
      return;
  }
}

/// The policy is not informed: it sees launches with fewer running blocks for a while.
void LaunchSet::drain(Time now) {
  successors_.evict_queued(now);
  evict_all(now);
  polls_.soon();
}

void LaunchSet::evict_all(Time now) {
  for (const auto& launch : launches_) launch->evict(now);
}

void LaunchSet::collect(Time now) {
  if (successors_.collect(now)) {
    events_.release_ends(now, [this](OperationId leader) { return successors_.is_leaving_behind(leader); });
    report_ends(now);
  }
  bool any = false;
  for (const auto& launch : launches_) {
    if (!launch->collect(now, events_.seen())) continue;
    any = true;
    if (launch->mode() == ExecutionMode::Worker) polls_.soon();
  }
  if (any) report_ends(now);
  const auto must_leave = [](const auto& launch) { return launch->must_leave(); };
  for (auto leaving = std::ranges::find_if(launches_, must_leave); leaving != launches_.end();
       leaving = std::ranges::find_if(launches_, must_leave)) {
    withdraw((*leaving)->id(), now);
  }
}

void LaunchSet::observe(Time now) {
  std::vector<Event>& events = events_.seen();
  // Ends come first: they are reported with their times, and time does not go back.
  std::ranges::stable_partition(launches_, [](const auto& launch) { return launch->grids().empty(); });
  const std::size_t first = events.size();  // starts lie in the past
  for (const auto& launch : launches_) {
    const std::size_t seen = events.size();
    launch->observe(polls_.started_at(), now, events);
    launch->tell_expected(now, events);
    merge_by_time(events, first, seen);
  }
  const std::size_t seen = events.size();
  report_ends(now);
  merge_by_time(events, first, seen);
  const bool place_is_free = arbiter_.reserves_place_for_poll() && !hardware_.place_for_poll();
  if (launches_.size() > 1 || place_is_free) make_room(now);
}

void LaunchSet::report_ends(Time now) {
  const auto is_over = [this](const std::unique_ptr<GpuLaunch>& launch) {
    return launch->has_ended() && !successors_.is_leaving_behind(launch->id());
  };
  for (const auto& launch : launches_) {
    if (is_over(launch)) learn_time_of(*launch);
  }
  std::erase_if(launches_, [&](const std::unique_ptr<GpuLaunch>& launch) {
    if (!is_over(launch)) return false;
    launch->close(events_.seen());
    events_.seen().push_back({.time = std::min(now, launch->end()),
                              .application = launch->submission().application,
                              .operation = launch->id(),
                              .kind = EventKind::LaunchEnded});
    std::unique_ptr<GpuLaunch> successor = launch->take_successor(now);
    if (successor) successor->came_behind(launch->end());
    successors_.keep(std::move(successor), launch->id());
    return true;
  });
}

/// The time of a launch in a row is valid where no other launch was on its SMs, and where it did not run in its
/// original form only because it is short.
void LaunchSet::learn_time_of(const GpuLaunch& launch) {
  if (launch.is_brief() || !launch.traits().has_worker || launch.traits().part != nullptr) return;
  const auto sms = fully_shared_sms(launch.share().wanted(), launch.traits().max_residency);
  if (!sms) return;
  const auto has_some = [&](const GpuLaunch& other) {
    return std::ranges::any_of(*sms, [&](SmId sm) { return other.share().wanted()[index(sm)] > 0; });
  };
  const bool is_alone_there =
      std::ranges::none_of(launches_, [&](const auto& other) { return other.get() != &launch && has_some(*other); });
  hardware_.history().add(
      {.kernel = launch.traits().kernel, .sms = sms->size(), .mode = launch.mode(), .blocks = launch.traits().blocks},
      is_alone_there ? launch.time_in_a_row() : std::nullopt);
}

int LaunchSet::level_for(const GpuLaunch& launch) const {
  std::vector<LevelInUse> in_use;
  for (const auto& other : launches_) {
    if (!other->grids().empty()) in_use.push_back({other->rank(), other->grids().level()});
  }
  return gpushare::level_for(launch.rank(), in_use, hardware_.levels());
}

/// The launches among which residency is shared out, in rank order. The others get none for now; but original launches
/// ignore the grant, and are handed to the hardware in order.
std::vector<GpuLaunch*> LaunchSet::participants(Time now) {
  std::vector<GpuLaunch*> ranked;
  for (const auto& launch : launches_) {
    if (bypass_.is_passing(*launch, now)) continue;
    const bool may_matter = launch->has_begun() || !launch->is_stopped() || launch->wants_hardware(now);
    if (may_matter) ranked.push_back(launch.get());
  }
  std::ranges::stable_sort(ranked, {}, &GpuLaunch::rank);
  std::vector<RankedLaunch> contenders;
  for (const GpuLaunch* launch : ranked) contenders.push_back({launch->has_begun(), launch->share().wanted()});
  const std::vector<std::size_t> places = ResidencyArbiter::participants(contenders);
  std::vector<GpuLaunch*> found;
  for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
    if (found.size() < places.size() && places[found.size()] == rank) {
      found.push_back(ranked[rank]);
    } else if (ranked[rank]->wants_hardware(now)) {
      ranked[rank]->evict(now);
    }
  }
  return found;
}

ResidencyRequest LaunchSet::request_of(const GpuLaunch& launch) const {
  return bypass_.is_on_reserved_sms(launch.id()) ? on_reserved_sms(launch.request()) : launch.request();
}

/// Launches give way to launches of better rank that lack places, as long as those do.
void LaunchSet::make_room(Time now) {
  if (quiescence_.is_draining()) return evict_all(now);
  const std::vector<GpuLaunch*> ranked = participants(now);
  std::vector<ResidencyRequest> requests;
  for (const GpuLaunch* launch : ranked) requests.push_back(request_of(*launch));
  const std::span<const ResidencyGrant> grants = arbiter_.share_out(std::move(requests), hardware_.place_for_poll());
  for (std::size_t rank = 0; rank < ranked.size(); ++rank) ranked[rank]->grant(grants[rank], now);
}

/// In rank order: among equals, the hardware serves the first one first.
void LaunchSet::hand_to_hardware(Time now) {
  bypass_.fill_places(launches_, now);
  std::vector<GpuLaunch*> wanting;
  std::size_t under_way = 0;
  for (const auto& launch : launches_) {
    if (launch->wants_hardware(now)) wanting.push_back(launch.get());
    if (!launch->grids().empty() && !bypass_.has_admitted(launch->id())) ++under_way;
  }
  if (wanting.empty()) return;
  if (quiescence_.begin_use(now) == Quiescence::Action::Drain) drain(now);
  if (!quiescence_.may_use()) return;
  std::ranges::stable_sort(wanting, {}, &GpuLaunch::rank);
  for (GpuLaunch* launch : wanting) {
    const bool is_new = launch->grids().empty() && !bypass_.has_admitted(launch->id());
    if (is_new && ++under_way > ResidencyArbiter::most_on_hardware) return;
    launch->hand_to_hardware(level_for(*launch), now);
    if (launch->mode() == ExecutionMode::Worker && launch->has_begun()) polls_.soon();
  }
}

/// Only where every launch has a share: otherwise a waiting launch may have to come next.
void LaunchSet::queue_successors(Time now) {
  const auto is_stopped = [](const auto& launch) { return launch->is_stopped(); };
  if (quiescence_.is_draining() || std::ranges::any_of(launches_, is_stopped)) return;
  for (const auto& launch : launches_) {
    if (!launch->accepts_successor()) continue;
    const std::optional<Submission> next = successors_.take_announced(launch->submission().application);
    if (next) launch->queue_successor(*next, now);
  }
}

PollNeed LaunchSet::poll_need() const {
  const auto needs_poll = [](const auto& launch) { return launch->needs_poll(); };
  const auto is_running = [](const auto& launch) {
    return launch->mode() == ExecutionMode::Worker && !launch->grids().empty();
  };
  const bool any_unsettled = std::ranges::any_of(launches_, needs_poll);
  return {.any_unsettled = any_unsettled,
          .any_running = any_unsettled || std::ranges::any_of(launches_, is_running),
          .events_wait = !events_.empty()};
}

bool LaunchSet::waits_for_devices() const {
  return std::ranges::any_of(launches_, [](const auto& launch) { return launch->traits().part != nullptr; });
}

bool LaunchSet::waits_in_vain() {
  bool does = !waits_for_devices();
  for (const auto& launch : launches_) {
    if (launch->traits().part != nullptr) does |= launch->traits().part->waits_in_vain();
  }
  return does;
}

bool LaunchSet::is_known_to_wait() const {
  return waits_for_devices() && std::ranges::all_of(launches_, [](const auto& launch) {
           return launch->traits().part == nullptr || launch->traits().part->is_known_to_wait();
         });
}

void LaunchSet::goes_on() {
  for (const auto& launch : launches_) {
    if (launch->traits().part != nullptr) launch->traits().part->goes_on();
  }
}

bool LaunchSet::is_idle(Time now) const {
  return !quiescence_.is_draining() && !plan_is_due_ && !bypass_.any_waits() && !successors_.any_leaving() &&
         std::ranges::all_of(launches_, [now](const auto& launch) {
           return launch->grids().empty() && !launch->needs_poll() && !launch->wants_hardware(now);
         });
}

bool LaunchSet::is_off_hardware() const {
  return successors_.are_off_hardware() &&
         std::ranges::all_of(launches_, [](const auto& launch) { return launch->is_off_hardware(); });
}

void LaunchSet::stop(Time now) {
  bypass_.take_out_all(launches_);
  std::vector<QueuedSuccessor> queued = successors_.take_all();
  for (const auto& launch : launches_) {
    if (auto successor = launch->take_successor(now)) queued.push_back({std::move(successor), launch->id()});
  }
  for (QueuedSuccessor& each : queued) {
    stopped_behind_[each.launch->id()] = each.leader;
    launches_.push_back(std::move(each.launch));
  }
  plan_.clear();
  put_into_effect(now);
}

bool LaunchSet::is_busy() const {
  return successors_.any_leaving() ||
         std::ranges::any_of(launches_, [](const auto& launch) { return !launch->grids().empty(); });
}

std::vector<BegunOperation> LaunchSet::begun() const { return begun_launches(launches_, stopped_behind_, successors_); }

}  // namespace gpushare
