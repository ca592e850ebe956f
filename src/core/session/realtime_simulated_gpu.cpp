// SPDX-License-Identifier: Apache-2.0
#include "core/session/realtime_simulated_gpu.hpp"

#include <algorithm>
#include <cmath>

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

/// Asking for the time takes tens of nanoseconds, an event may take less.
constexpr int events_per_clock = 16;

/// A delay of the wake-up up to this is made up for; more is forgotten.
constexpr Duration most_delay(2'000'000);

/// The simulated GPU counts time in doubles, which from 2^53 ns on do not know every nanosecond.
Time last_before(Time time) { return Time(Duration(std::llrint(std::floor(std::nextafter(nanoseconds(time), 0.0))))); }

}  // namespace

Time RealtimeSimulatedGpu::clock_time() const { return clock_->now(latest_time); }

/// Never beyond what has been reported, and never back.
Time RealtimeSimulatedGpu::now() const {
  Time time = gpu_.now();
  if (is_settled_) {
    const Time told = std::max(latest_, clock_time());
    time = std::max(time, next_change_ ? std::min(told, last_before(*next_change_)) : told);
  }
  return latest_ = std::max(latest_, time);
}

void RealtimeSimulatedGpu::catch_up() {
  if (is_settled_) GPUSHARE_EXPECT(!gpu_.next_event(now()), "nothing happens before the next change");
  is_settled_ = false;
}

void RealtimeSimulatedGpu::submit(const Submission& submission) {
  catch_up();
  gpu_.submit(submission);
}

void RealtimeSimulatedGpu::apply(const Plan& plan) {
  catch_up();
  gpu_.apply(plan);
}

void RealtimeSimulatedGpu::admit(OperationId launch) {
  catch_up();
  gpu_.admit(launch);
}

void RealtimeSimulatedGpu::withdraw(OperationId operation) {
  catch_up();
  gpu_.withdraw(operation);
}

std::optional<Event> RealtimeSimulatedGpu::next_event(std::optional<Time> deadline) {
  while (true) {
    if (events_since_clock_ == 0) {
      read_clock();
      if (was_woken()) return std::nullopt;
    }
    events_since_clock_ = (events_since_clock_ + 1) % events_per_clock;
    is_settled_ = false;
    if (auto event = gpu_.next_event(deadline ? std::min(horizon_, *deadline) : horizon_)) return event;
    is_settled_ = true;
    events_since_clock_ = 0;
    next_change_ = gpu_.next_change();
    if (deadline && nanoseconds(gpu_.now()) >= nanoseconds(*deadline)) return std::nullopt;
    if (!next_change_ && !deadline) return std::nullopt;
    sleep_until(!next_change_ ? *deadline : deadline ? std::min(*next_change_, *deadline) : *next_change_);
  }
}

/// A longer delay than that of a wake-up is not made up for.
void RealtimeSimulatedGpu::read_clock() {
  horizon_ = std::max(clock_time(), gpu_.now());
  require(horizon_ < latest_time, "a session on a simulated device lasts for 200 years of its time: open another one");
  const std::optional<Time> due = is_settled_ ? next_change_ : gpu_.now();
  if (!due || nanoseconds(horizon_ - *due) <= nanoseconds(most_delay) * clock_->speed()) return;
  clock_->forget(horizon_ - *due);
  horizon_ = *due;
}

/// At most for a second, or until wake().
void RealtimeSimulatedGpu::sleep_until(Time time) {
  const double wait_ns = std::min(nanoseconds(time - clock_time()) / clock_->speed(), 1e9);
  if (wait_ns <= 0) return;
  std::unique_lock lock(mutex_);
  wakes_.wait_for(lock, Duration(std::llrint(std::ceil(wait_ns))), [this] { return woken_.load(); });
}

void RealtimeSimulatedGpu::wake() {
  const std::scoped_lock lock(mutex_);
  woken_.store(true, std::memory_order_release);
  wakes_.notify_all();
}

std::vector<BegunOperation> RealtimeSimulatedGpu::begun() const {
  std::vector<BegunOperation> all;
  for (const OperationId operation : gpu_.operations_at_work()) all.push_back({operation, Stage::OnDevice});
  return all;
}

LiveDevice realtime_device(const Device& device, std::uint64_t seed, double speed) {
  return {.description = std::make_shared<const Device>(device),
          .open = [device, seed, speed] { return std::make_unique<RealtimeSimulatedGpu>(device, seed, speed); }};
}

LiveDevice realtime_device(const Device& device, std::uint64_t seed, std::shared_ptr<SimulatedClock> clock) {
  return {.description = std::make_shared<const Device>(device), .open = [device, seed, clock = std::move(clock)] {
            return std::make_unique<RealtimeSimulatedGpu>(device, seed, clock);
          }};
}

}  // namespace gpushare
