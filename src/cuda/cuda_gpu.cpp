// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_gpu.hpp"

#include <algorithm>

#include "core/model/errors.hpp"
#include "cuda/shared_library.hpp"

namespace gpushare::cuda {
namespace {

constexpr int events_per_clock = 16;
/// A built-in policy processes all events of a poll in 10 to 30 us; one in Python may take a millisecond.
constexpr Duration longest_turn(50'000);
constexpr int most_times_put_off = 3;
constexpr Duration health_check_interval(1'000'000);
constexpr Duration heartbeat_interval(50'000'000);

/// A poll takes 6 us, 13 us beside copies that do not delay it.
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
      to_host_(resources.context, resources.completions) {
  require(turn_.owns_lock(), "another run or session of this process is on this GPU: finish it first");
}

Time CudaGpu::elapsed() const {
  const Clock::time_point now = Clock::now();
  if (!start_) start_ = now;
  return Time(std::chrono::duration_cast<Duration>(now - *start_));
}

// The caller stamps arrivals with this time, while earlier events may not have been taken yet: from now on they are
// reported with this time.
Time CudaGpu::now() const { return last_time_ = std::max(last_time_, elapsed()); }

bool CudaGpu::is_idle() const {
  const Time time = elapsed();
  return !is_paused_ && !plan_is_due_ && events_.empty() && outside_.empty() && to_device_.empty() &&
         to_host_.empty() && !followers_.any_leaving() &&
         std::ranges::all_of(launches_, [](const auto& launch) { return launch->hardware().empty(); }) &&
         std::ranges::none_of(
             launches_, [time](const auto& launch) { return launch->is_settling() || launch->wants_hardware(time); });
}

const DeviceOperation& CudaGpu::operation_of(const Submission& submission) const {
  if (submission.code == nullptr) return program_[index(submission.id)];
  const auto* code = dynamic_cast<const SubmittedCode*>(submission.code);
  GPUSHARE_EXPECT(code != nullptr, "a GPU gets code for GPUs");
  return code->operation();
}

void CudaGpu::submit(const Submission& submission) {
  const DeviceOperation& operation = operation_of(submission);
  if (const auto* launch = std::get_if<DeviceLaunch>(&operation)) {
    followers_.take_announced(submission.application);
    std::unique_ptr<LaunchOnGpu> started = followers_.take_started(submission.id);
    // A launch that has not started has no share until a plan gives it one.
    plan_is_due_ |= started || std::ranges::find(plan_, submission.id, &Share::launch) != plan_.end();
    launches_.push_back(started ? std::move(started) : make_launch(resources_, submission, *launch));
    launches_.back()->submitted(elapsed());
    return;
  }
  const auto& copy = std::get<DeviceCopy>(operation);
  (copy.direction == Copy::Direction::ToDevice ? to_device_ : to_host_).submit(submission, copy, elapsed(), events_);
}

// A policy may answer every block of a poll with the same plan. And where a launch ends and the next one of its
// application arrives at once, it decides twice: the first of these plans must not take effect for a microsecond.
void CudaGpu::apply(const Plan& plan) {
  if (plan_ == plan.shares) return;
  plan_ = plan.shares;
  plan_is_due_ = true;
}

void CudaGpu::put_into_effect() {
  static const Share nothing{.quota = Quota::nowhere()};
  plan_is_due_ = false;
  const Time time = elapsed();
  for (const Share& share : plan_) let_in(share.launch);
  for (const auto& launch : launches_) {
    const auto share = std::ranges::find(plan_, launch->submission().id, &Share::launch);
    if (share == plan_.end() && is_admitted(*launch)) continue;
    admitted_.erase(launch->submission().id);
    const auto rank = static_cast<int>(share - plan_.begin());
    launch->set_share(share == plan_.end() ? nothing : *share, rank);
  }
  stop_first(time);
  choose_ways();
  make_room(time);
  hand_to_hardware(time);
  look_soon();
}

// Their SMs are needed by others, and they get none when residency is shared out, so they need not wait for that.
void CudaGpu::stop_first(Time time) {
  for (const auto& launch : launches_) {
    if (launch->is_stopped() && launch->has_begun()) launch->evict(time);
  }
}

// The clock is read after some events: it may cost as much as a policy's decision. Deadlines and calls may follow each
// other faster than they can be served, as where a hundred launches arrive at once or a policy is slower than its
// wake-ups. So events are deferred for some of them, then served for a limited time, and then the GPU is polled: else
// ends of launches would go unseen, and each plan would share out residency among all of these.
std::optional<gpushare::Event> CudaGpu::next_event_in_use(std::optional<Time> deadline) {
  if (plan_is_due_) put_into_effect();
  while (true) {
    if (!events_.empty() && events_since_clock_++ < events_per_clock) return take_event();
    events_since_clock_ = 0;
    heed_quiet(elapsed());  // relaunched work may end after the next reading of the clock, not before
    const Time time = elapsed();
    watch_.looks(time);
    if (events_.empty()) {
      times_put_off_ = 0;
      attend(time);
    } else {
      collect(time);  // when something ends is known from when that is seen
    }
    if (events_have_turn(time)) continue;
    if (deadline && time >= *deadline) {
      last_time_ = std::max(last_time_, *deadline);
      return std::nullopt;
    }
    if (woken_.exchange(false, std::memory_order_acq_rel)) return std::nullopt;
    if (!events_.empty() || !is_idle()) continue;
    if (!deadline) return std::nullopt;
    end_use_if_empty();
    sleep_until(*deadline);
  }
}

bool CudaGpu::events_have_turn(Time time) {
  if (events_.empty() || times_put_off_ < most_times_put_off) return false;
  if (!turn_began_) turn_began_ = time;
  return time - *turn_began_ < longest_turn;
}

/// The caller may not come back for long, so drains must not wait for it.
std::optional<gpushare::Event> CudaGpu::next_event(std::optional<Time> deadline) {
  std::optional<gpushare::Event> event = next_event_in_use(deadline);
  if (!event) {
    turn_began_.reset();
    ++times_put_off_;
  }
  if (!event && is_in_use_) end_use_if_empty();
  if (!event && !is_in_use_) quiet_moments().end_use();
  return event;
}

gpushare::Event CudaGpu::take_event() {
  gpushare::Event event = events_[next_event_++];
  event.next_is_known = next_event_ < events_.size();
  if (!event.next_is_known) {
    events_.clear();
    next_event_ = 0;
  }
  const Time reported = last_time_ = std::max(last_time_, event.time);
  const bool is_group = event.kind == EventKind::BlockStarted || event.kind == EventKind::BlockEnded;
  if (is_group) event.started += reported - event.time;  // blocks last as long as they did
  event.time = reported;
  if (event.kind == EventKind::LaunchEnded) leaves_room(event.operation);
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
  line_up_followers(time);
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

/// The processor is idle while the GPU is.
void CudaGpu::sleep_until(Time deadline) {
  const Time end = std::min(deadline - sleep_margin, elapsed() + heartbeat_interval);
  watch_.sleeps(elapsed());
  std::unique_lock lock(mutex_);
  wakes_.wait_until(lock, *start_ + end.time_since_epoch(), [this] { return woken_.load(); });
}

void CudaGpu::wake() {
  const std::scoped_lock lock(mutex_);
  woken_.store(true, std::memory_order_release);
  wakes_.notify_all();
}

void CudaGpu::fail(const std::string& message) const { throw CudaError(message); }

LiveDevice live_device(std::shared_ptr<LaunchResources> resources) {
  const Device& device = resources->device;
  return {.description = std::shared_ptr<const Device>(resources->context, &device), .open = [resources] {
            static const Program none;
            return std::make_unique<CudaGpu>(*resources, none);
          }};
}

}  // namespace gpushare::cuda
