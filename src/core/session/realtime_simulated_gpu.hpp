// SPDX-License-Identifier: Apache-2.0
// The simulated GPU in wall-clock time: events of virtual time are reported when their time has come. Virtual
// time never runs ahead. Where simulating takes longer than what is simulated, it falls behind, and does not hurry
// afterwards to make up for that: what lies between two events stays as long as it was.
//
// Suits: tests and trials of all that needs a device in wall-clock time, without a GPU. Fails: as a clock, where blocks
// of microseconds fill a large device; then a simulated second takes several real ones.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "core/session/live_gpu.hpp"
#include "core/session/simulated_clock.hpp"
#include "core/simulation/simulated_gpu.hpp"

namespace gpushare {

class RealtimeSimulatedGpu final : public LiveGpu {
 public:
  /// `speed`: seconds of virtual time in one of the wall clock's.
  RealtimeSimulatedGpu(const Device& device, std::uint64_t seed, double speed)
      : RealtimeSimulatedGpu(device, seed, std::make_shared<SimulatedClock>(speed)) {}
  RealtimeSimulatedGpu(const Device& device, std::uint64_t seed, std::shared_ptr<SimulatedClock> clock)
      : gpu_(device, seed), clock_(std::move(clock)) {}

  const Device& device() const override { return gpu_.device(); }
  void submit(const Submission& submission) override;
  void announce(const Submission& next) override { gpu_.announce(next); }
  void apply(const Plan& plan) override;
  void admit(OperationId launch) override;
  void withdraw(OperationId operation) override;
  std::optional<Event> next_event(std::optional<Time> deadline) override;

  Time now() const override;
  void wake() override;
  bool is_idle() const override { return is_settled_ && !next_change_; }
  /// There is nothing to wait for: blocks are only simulated.
  bool stop(Duration /*patience*/) override { return true; }
  std::vector<BegunOperation> begun() const override;
  [[noreturn]] void fail(const std::string& message) const override { throw DeviceError(message); }

 private:
  Time clock_time() const;
  /// Advances virtual time as far as it can by itself.
  void catch_up();
  void read_clock();
  void sleep_until(Time time);
  bool was_woken() { return woken_.exchange(false, std::memory_order_acq_rel); }

  SimulatedGpu gpu_;
  std::shared_ptr<SimulatedClock> clock_;
  mutable Time latest_{};  // that now() has told
  Time horizon_{};         // the clock's time when it was last read
  int events_since_clock_ = 0;
  bool is_settled_ = true;             // all up to gpu_.now() has been reported, and
  std::optional<Time> next_change_{};  // nothing happens by itself before that
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::atomic<bool> woken_{false};
};

/// A simulated device to open sessions on.
LiveDevice realtime_device(const Device& device, std::uint64_t seed, double speed);
/// One of several, which have the time of this clock.
LiveDevice realtime_device(const Device& device, std::uint64_t seed, std::shared_ptr<SimulatedClock> clock);

}  // namespace gpushare
