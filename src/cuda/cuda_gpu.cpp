// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_gpu.hpp"

#include "core/model/errors.hpp"
#include "cuda/driver/shared_library.hpp"

namespace gpushare::cuda {
namespace {

constexpr Duration health_check_interval(1'000'000);
constexpr Duration heartbeat_interval(50'000'000);

/// A thread that sleeps wakes up tens of microseconds late, so the last stretch is waited for awake.
constexpr Duration sleep_margin(150'000);

}  // namespace

CudaGpu::CudaGpu(GpuResources& resources, const Program& program, WallClock clock)
    : resources_(resources),
      in_use_(resources.in_use, std::try_to_lock),
      current_(*resources.context),
      clock_(clock),
      factory_(resources, program, [this] { wakes_.wake(); }),
      events_(resources.device.runtime),
      polls_(resources.device.runtime),
      launches_(factory_, resources.context->drain_requests(), events_, polls_),
      to_device_(resources.context, resources.completions),
      to_host_(resources.context, resources.completions) {
  require(in_use_.owns_lock(), "another run or session of this process is on this GPU: finish it first");
}

// The caller stamps arrivals with this time, while earlier events may not have been taken yet: from now on they are
// reported with this time.
Time CudaGpu::now() const { return events_.advance_to(clock_.elapsed()); }

bool CudaGpu::is_idle() const { return has_nothing_to_do() && !launches_.waits_for_devices(); }

bool CudaGpu::waits_in_vain() {
  if (has_nothing_to_do()) return launches_.waits_in_vain();
  launches_.goes_on();
  return false;
}

bool CudaGpu::has_nothing_to_do() const {
  return events_.empty() && to_device_.empty() && to_host_.empty() && launches_.is_idle(clock_.elapsed());
}

void CudaGpu::submit(const Submission& submission) {
  const auto* copy = std::get_if<DeviceCopy>(&factory_.operation_of(submission));
  if (copy == nullptr) return launches_.submit(submission, clock_.elapsed());
  CopyQueue& queue = copy->direction == Copy::Direction::ToDevice ? to_device_ : to_host_;
  queue.submit(submission, *copy, clock_.elapsed(), events_.seen());
}

/// Drains must not wait for a caller that may not come back for long.
std::optional<gpushare::Event> CudaGpu::next_event(std::optional<Time> deadline) {
  std::optional<gpushare::Event> event = next_event_in_use(deadline);
  if (!event) {
    events_.deferred();
    launches_.leave_use();
  }
  return event;
}

std::optional<gpushare::Event> CudaGpu::next_event_in_use(std::optional<Time> deadline) {
  if (launches_.plan_is_due()) launches_.put_into_effect(clock_.elapsed());
  while (true) {
    if (events_.may_take_without_clock()) return take_event();
    events_.clock_was_read();
    launches_.check_drain(clock_.elapsed());  // relaunched work may end after the next reading of the clock, not before
    const Time time = clock_.elapsed();
    watch_.polls(time);
    if (events_.empty()) {
      events_.none_waits();
      attend(time);
    } else {
      collect(time);  // when something ends is known from when that is seen
    }
    if (events_.are_due(time)) continue;
    if (deadline && time >= *deadline) {
      events_.advance_to(*deadline);
      return std::nullopt;
    }
    if (wakes_.take()) return std::nullopt;
    if (!events_.empty() || !has_nothing_to_do()) continue;
    if (!deadline && !launches_.is_known_to_wait()) return std::nullopt;
    launches_.leave_use();
    sleep_until(deadline.value_or(time + heartbeat_interval));
  }
}

gpushare::Event CudaGpu::take_event() {
  const gpushare::Event event = events_.take();
  if (event.kind == EventKind::LaunchEnded) launches_.reported_end(event.operation);
  return event;
}

void CudaGpu::collect(Time time) {
  to_device_.collect(time, events_.seen());
  to_host_.collect(time, events_.seen());
  launches_.collect(time);
}

void CudaGpu::attend(Time time) {
  collect(time);
  WorkerTables& tables = resources_.tables;
  if (tables.poll_has_ended()) {
    tables.end_poll();
    launches_.observe(time);
    polls_.ended(time);
  } else if (polls_.is_late(time, launches_.reserves_place_for_poll()) && tables.hurry_poll()) {
    launches_.make_room(time);
  }
  launches_.hand_to_hardware(time);
  launches_.queue_successors(time);
  if (!tables.is_polling() && polls_.is_due(time, launches_.poll_need())) {
    tables.start_poll();
    polls_.started(time);
  }
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
  const Time end = std::min(deadline - sleep_margin, clock_.elapsed() + heartbeat_interval);
  watch_.sleeps(clock_.elapsed());
  wakes_.wait_until(clock_.began() + end.time_since_epoch());
}

// After a fault the driver refuses every call; after other failures calls may succeed.
bool CudaGpu::stop(Duration patience) {
  try {
    resources_.completions.require_healthy();
    if (becomes_empty_within(patience)) return true;
  } catch (const std::exception&) {  // the context cannot be used any more
  }
  resources_.context->abandon();
  return false;
}

bool CudaGpu::becomes_empty_within(Duration patience) {
  launches_.stop(clock_.elapsed());
  const Time end = clock_.elapsed() + patience;
  while (is_busy() && clock_.elapsed() < end) {
    collect(clock_.elapsed());
    if (resources_.tables.poll_has_ended()) {
      resources_.tables.end_poll();
    } else {
      resources_.tables.hurry_poll();
    }
  }
  return !is_busy();
}

bool CudaGpu::is_busy() const {
  return !to_device_.empty() || !to_host_.empty() || resources_.tables.is_polling() || launches_.is_busy();
}

std::vector<BegunOperation> CudaGpu::begun() const {
  std::vector<BegunOperation> all = launches_.begun();
  for (const CopyQueue* copies : {&to_device_, &to_host_}) {
    if (const auto copy = copies->first()) all.push_back({*copy, Stage::OnDevice});
  }
  for (const OperationId ended : events_.unreported_ends()) all.push_back({ended, Stage::Ended});
  return all;
}

void CudaGpu::fail(const std::string& message) const { throw CudaError(message); }

LiveDevice live_device(std::shared_ptr<GpuResources> resources) {
  const Device& device = resources->device;
  return {.description = std::shared_ptr<const Device>(resources->context, &device), .open = [resources] {
            static const Program none;
            return std::make_unique<CudaGpu>(*resources, none);
          }};
}

}  // namespace gpushare::cuda
