// SPDX-License-Identifier: Apache-2.0
// A real GPU behind the same seam as the simulated one. No thread blocks in the driver: the engine's thread reads words
// that streams set, copies the workers' counters to the host now and then, and converts changes to events. This class
// joins the components that do so (docs/internals/real-gpu.md) and has the clock.
//
// Suits kernels with block times of microseconds to milliseconds. Its reaction time is bounded by the times of a poll
// (6 us on an H100) and of a new quota (8 us); blocks are never cut short.
#pragma once

#include <functional>
#include <mutex>

#include "core/runtime/launch_set.hpp"
#include "core/runtime/scheduler_watch.hpp"
#include "core/runtime/wake_signal.hpp"
#include "core/runtime/wall_clock.hpp"
#include "cuda/launch/launch_factory.hpp"
#include "cuda/memory/copy_queue.hpp"

namespace gpushare::cuda {

class CudaGpu final : public LiveGpu {
 public:
  /// The program gives the code of operations that are submitted without. Time 0 is now. Throws InvalidInput while
  /// another run is on this GPU.
  CudaGpu(GpuResources& resources, const Program& program, WallClock clock = WallClock());

  const Device& device() const override { return resources_.device; }
  void submit(const Submission& submission) override;
  void announce(const Submission& next) override { launches_.announce(next); }
  bool is_leaving(OperationId announced) const override { return launches_.is_leaving(announced); }
  void apply(const Plan& plan) override { launches_.apply(plan.shares); }
  void admit(OperationId operation) override { launches_.admit(operation, clock_.elapsed()); }
  void withdraw(OperationId operation) override { launches_.withdraw(operation, clock_.elapsed()); }
  /// As documented for the seam; nullopt also after wake().
  std::optional<gpushare::Event> next_event(std::optional<Time> deadline) override;

  Time now() const override;
  bool is_idle() const override;
  bool waits_in_vain() override;
  void goes_on() override { launches_.goes_on(); }
  void wake() override { wakes_.wake(); }

  /// Called some times a second while a run waits; an exception from it ends the run.
  void set_heartbeat(std::function<void()> heartbeat) { heartbeat_ = std::move(heartbeat); }

  /// If that fails, the context is abandoned.
  bool stop(Duration patience) override;
  std::vector<BegunOperation> begun() const override;
  [[noreturn]] void fail(const std::string& message) const override;

  /// Time 0.
  std::chrono::steady_clock::time_point began() const { return clock_.began(); }
  /// For the thread that runs the engine.
  SchedulerDelays scheduler_delays() const { return watch_.until(clock_.elapsed()); }

 private:
  std::optional<gpushare::Event> next_event_in_use(std::optional<Time> deadline);
  gpushare::Event take_event();
  void collect(Time time);
  void attend(Time time);
  void check_health(Time time);
  void sleep_until(Time deadline);
  bool becomes_empty_within(Duration patience);
  bool is_busy() const;
  bool has_nothing_to_do() const;

  GpuResources& resources_;
  const std::unique_lock<std::mutex> in_use_;
  const CurrentContext current_;
  WallClock clock_;
  WakeSignal wakes_;  // threads of other devices wake it as long as there are launches
  LaunchFactory factory_;
  mutable EventBuffer events_;
  PollSchedule polls_;
  LaunchSet launches_;
  CopyQueue to_device_;
  CopyQueue to_host_;
  SchedulerWatch watch_;
  Time health_checked_{};
  Time heartbeat_at_{};
  std::function<void()> heartbeat_ = [] {};
};

/// A GPU to open sessions on.
LiveDevice live_device(std::shared_ptr<GpuResources> resources);

}  // namespace gpushare::cuda
