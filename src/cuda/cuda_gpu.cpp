// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_gpu.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/workers/stream_level.hpp"

namespace gpushare::cuda {
namespace {

/// A GPU runs 128 grids at a time, and streams share 32 queues. What ranks behind so many others gets nothing anyway.
constexpr std::size_t most_launches_on_hardware = 20;

constexpr int events_per_clock = 16;
constexpr Duration health_check_interval(1'000'000);
constexpr Duration heartbeat_interval(50'000'000);

/// A look takes 6 us, 13 us beside copies that do not delay it.
constexpr Duration look_patience(40'000);
constexpr Duration short_look_patience(25'000);

/// A thread that sleeps wakes up tens of microseconds late, so the last stretch is waited for awake.
constexpr Duration sleep_margin(150'000);

}  // namespace

CudaGpu::CudaGpu(LaunchResources& resources, const Program& program)
    : resources_(resources),
      turn_(resources.turn, std::try_to_lock),
      current_(*resources.context),
      program_(program),
      to_device_(resources.context, resources.completions),
      to_host_(resources.context, resources.completions),
      start_(Clock::now()) {
  require(turn_.owns_lock(), "another run or session of this process is on this GPU: finish it first");
}

Time CudaGpu::now() const { return Time(std::chrono::duration_cast<Duration>(Clock::now() - start_)); }

bool CudaGpu::is_idle() const {
  return events_.empty() && to_device_.empty() && to_host_.empty() &&
         std::ranges::all_of(launches_, [](const auto& launch) { return launch->hardware().empty(); }) &&
         std::ranges::none_of(
             launches_, [this](const auto& launch) { return launch->is_settling() || launch->wants_hardware(now()); });
}

bool CudaGpu::stop(Duration patience) {
  apply(Plan{});
  const Time end = now() + patience;
  while (is_busy() && now() < end) {
    collect(now());
    if (resources_.tables.look_has_ended()) {
      resources_.tables.end_look();
    } else {
      resources_.tables.hurry_look();
    }
  }
  if (!is_busy()) return true;
  resources_.context->abandon();
  return false;
}

bool CudaGpu::is_busy() const {
  return !to_device_.empty() || !to_host_.empty() || resources_.tables.is_looking() ||
         std::ranges::any_of(launches_, [](const auto& launch) { return !launch->hardware().empty(); });
}

std::vector<ApplicationId> CudaGpu::applications_on_gpu() const {
  std::vector<ApplicationId> applications;
  for (const auto& launch : launches_) {
    if (!launch->hardware().empty()) applications.push_back(launch->submission().application);
  }
  return applications;
}

void CudaGpu::submit(const Submission& submission) {
  const DeviceOperation& operation = program_[index(submission.id)];
  if (const auto* launch = std::get_if<DeviceLaunch>(&operation)) {
    launches_.push_back(make_launch(resources_, submission, *launch));
    applied_.reset();
    return;
  }
  const auto& copy = std::get<DeviceCopy>(operation);
  (copy.direction == Copy::Direction::ToDevice ? to_device_ : to_host_).submit(submission, copy, now(), events_);
}

// A policy may answer every block of a look with the same plan.
void CudaGpu::apply(const Plan& plan) {
  if (applied_ == plan.shares) return;
  applied_ = plan.shares;
  const Time time = now();
  for (const auto& launch : launches_) {
    const auto share = std::ranges::find(plan.shares, launch->submission().id, &Share::launch);
    const auto rank = static_cast<int>(share - plan.shares.begin());
    launch->set_quota(share == plan.shares.end() ? Quota::nowhere() : share->quota, rank);
  }
  make_room(time);
  hand_to_hardware(time);
  look_soon();
}

// The clock is read after some events: it may cost as much as a policy's decision. Between two deadlines there are
// always some events, if there are any, and a look at the GPU: a policy slower than its own wake-ups must not stop the
// rest.
std::optional<gpushare::Event> CudaGpu::next_event(std::optional<Time> deadline) {
  while (true) {
    if (!events_.empty() && events_since_clock_++ < events_per_clock) return take_event();
    events_since_clock_ = 0;
    const Time time = now();
    if (events_.empty()) {
      attend(time);
    } else {
      collect(time);  // when something ends is known from when that is seen
    }
    if (deadline && time >= *deadline) {
      last_time_ = std::max(last_time_, *deadline);
      return std::nullopt;
    }
    if (woken_.exchange(false, std::memory_order_acq_rel)) return std::nullopt;
    if (!events_.empty() || !is_idle()) continue;
    if (!deadline) return std::nullopt;
    sleep_until(*deadline);
  }
}

gpushare::Event CudaGpu::take_event() {
  gpushare::Event event = events_[next_event_++];
  if (next_event_ == events_.size()) {
    events_.clear();
    next_event_ = 0;
  }
  const Time reported = last_time_ = std::max(last_time_, event.time);
  const bool is_group = event.kind == EventKind::BlockStarted || event.kind == EventKind::BlockEnded;
  if (is_group) event.started += reported - event.time;  // blocks last as long as they did
  event.time = reported;
  return event;
}

void CudaGpu::attend(Time time) {
  collect(time);
  if (resources_.tables.look_has_ended()) {
    finish_look(time);
  } else if (time - look_started_ >= (room_is_kept_ ? short_look_patience : look_patience) &&
             resources_.tables.hurry_look()) {
    make_room(time);
  }
  hand_to_hardware(time);
  start_look(time);
  check_health(time);
}

void CudaGpu::check_health(Time time) {
  if (time - health_checked_ >= health_check_interval) {
    health_checked_ = time;
    resources_.completions.require_healthy();
  }
  if (time - heartbeat_at_ >= heartbeat_interval) {
    heartbeat_at_ = time;
    heartbeat_();
  }
}

/// The processor is free while the GPU is.
void CudaGpu::sleep_until(Time deadline) {
  const Time end = std::min(deadline - sleep_margin, now() + heartbeat_interval);
  std::unique_lock lock(mutex_);
  wakes_.wait_until(lock, start_ + end.time_since_epoch(), [this] { return woken_.load(); });
}

void CudaGpu::wake() {
  const std::scoped_lock lock(mutex_);
  woken_.store(true, std::memory_order_release);
  wakes_.notify_all();
}

void CudaGpu::collect(Time time) {
  to_device_.collect(time, events_);
  to_host_.collect(time, events_);
  bool any = false;
  for (const auto& launch : launches_) any |= launch->collect(time, events_);
  if (!any) return;
  look_soon();
  report_ends(time);
}

void CudaGpu::finish_look(Time time) {
  resources_.tables.end_look();
  // What has ended first: it is reported with the time when it did, and time does not go back.
  std::ranges::stable_partition(launches_, [](const auto& launch) { return launch->hardware().empty(); });
  const auto first = static_cast<std::ptrdiff_t>(events_.size());
  for (const auto& launch : launches_) launch->look(look_started_, time, events_);
  report_ends(time);
  if (launches_.size() > 1 || (room_is_kept_ && !resources_.tables.room_for_look())) make_room(time);
  // Starts lie in the past; those of one launch come in order.
  if (launches_.size() > 1)
    std::ranges::stable_sort(events_.begin() + first, events_.end(), {}, &gpushare::Event::time);
  look_ended_ = time;
  look_wait_ = std::min(2 * look_wait_, longest_wait);
}

void CudaGpu::report_ends(Time time) {
  std::erase_if(launches_, [&](const std::unique_ptr<LaunchOnGpu>& launch) {
    if (!launch->ended()) return false;
    const Submission& submission = launch->submission();
    events_.push_back({.time = std::min(time, launch->end()),
                       .application = submission.application,
                       .operation = submission.id,
                       .kind = EventKind::LaunchEnded});
    return true;
  });
}

int CudaGpu::level_for(const LaunchOnGpu& launch) const {
  std::vector<LevelInUse> in_use;
  for (const auto& other : launches_) {
    if (!other->hardware().empty()) in_use.push_back({other->rank(), other->hardware().level()});
  }
  return gpushare::level_for(launch.rank(), in_use, resources_.streams.levels());
}

/// Who ranks behind gives way to who lacks room, as long as it does.
void CudaGpu::make_room(Time time) {
  std::vector<LaunchOnGpu*> ranked;
  for (const auto& launch : launches_) ranked.push_back(launch.get());
  std::ranges::stable_sort(ranked, {}, &LaunchOnGpu::rank);
  std::vector<RoomClaim> claims;
  for (const LaunchOnGpu* launch : ranked) claims.push_back(launch->claim());
  const std::optional<RoomClaim> look = claim_of_look(claims);
  room_is_kept_ = look.has_value();
  if (room_is_kept_) claims.insert(claims.begin(), *look);
  const std::vector<Allowance> allowed = gpushare::make_room(device(), claims);
  const std::size_t first = room_is_kept_ ? 1 : 0;
  for (std::size_t rank = 0; rank < ranked.size(); ++rank) ranked[rank]->allow(allowed[first + rank], time);
}

/// A look's block is there for microseconds, and its place is kept for the next. One SM is enough, and it must not be
/// the last place of anybody; policies try newcomers on the first SM.
std::optional<RoomClaim> CudaGpu::claim_of_look(std::span<const RoomClaim> claims) const {
  const std::optional<BlockNeeds> needs = resources_.tables.room_for_look();
  if (!needs) return std::nullopt;
  for (auto sm = static_cast<std::size_t>(device().sms); sm-- > 0;) {
    if (std::ranges::any_of(claims, [sm](const RoomClaim& claim) { return claim.wanted[sm] == 1; })) continue;
    std::vector<int> wanted(static_cast<std::size_t>(device().sms), 0);
    wanted[sm] = 1;
    return RoomClaim{.block = footprint(device(), *needs),
                     .wanted = wanted,
                     .present = std::vector<int>(wanted.size(), 0),
                     .unclaimed = 1};
  }
  return std::nullopt;
}

/// In rank order: among equals, the hardware serves first who comes first.
void CudaGpu::hand_to_hardware(Time time) {
  std::vector<LaunchOnGpu*> wanting;
  std::size_t under_way = 0;
  for (const auto& launch : launches_) {
    if (!launch->hardware().empty()) ++under_way;
    if (launch->wants_hardware(time)) wanting.push_back(launch.get());
  }
  std::ranges::stable_sort(wanting, {}, &LaunchOnGpu::rank);
  for (LaunchOnGpu* launch : wanting) {
    if (launch->hardware().empty() && ++under_way > most_launches_on_hardware) return;
    launch->hand_to_hardware(level_for(*launch), time);
    look_soon();
  }
}

void CudaGpu::start_look(Time time) {
  if (resources_.tables.is_looking()) return;
  const bool any_settling = std::ranges::any_of(launches_, [](const auto& launch) { return launch->is_settling(); });
  const bool any_on_hardware =
      std::ranges::any_of(launches_, [](const auto& launch) { return !launch->hardware().empty(); });
  if (!any_settling && !any_on_hardware) return;
  // The policy hears for a while what the last look has shown. Where somebody waits, the next one goes on meanwhile.
  const Duration wait = !any_settling ? look_wait_ : events_.empty() ? shortest_wait : Duration{};
  if (time - look_ended_ < wait) return;
  resources_.tables.start_look();
  look_started_ = time;
}

}  // namespace gpushare::cuda
