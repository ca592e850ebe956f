// SPDX-License-Identifier: Apache-2.0
// A real GPU behind the same seam as the simulated one. No thread blocks in the driver: the engine's thread reads words
// that streams set, copies the workers' counters to the host now and then, and converts changes to events.
//
// Suits kernels with block times of microseconds to milliseconds. Its reaction time is bounded by the times of a poll
// (6 us on an H100) and of a new quota (8 us); blocks are never cut short.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/session/live_gpu.hpp"
#include "core/workers/shared_room.hpp"
#include "cuda/copy_engines.hpp"
#include "cuda/followers.hpp"
#include "cuda/scheduler_watch.hpp"

namespace gpushare::cuda {

class CudaGpu final : public LiveGpu {
 public:
  /// The program gives the code of operations that are submitted without. Time 0 is now. Throws InvalidInput while
  /// another run is on this GPU.
  CudaGpu(LaunchResources& resources, const Program& program);
  ~CudaGpu() override;

  const Device& device() const override { return resources_.device; }
  void submit(const Submission& submission) override;
  void announce(const Submission& next) override { followers_.announce(next); }
  bool is_leaving(OperationId announced) const override { return followers_.is_leaving(announced); }
  void apply(const Plan& plan) override;
  void admit(OperationId operation) override;
  void withdraw(OperationId operation) override;
  /// As documented for the seam; nullopt also after wake().
  std::optional<gpushare::Event> next_event(std::optional<Time> deadline) override;

  Time now() const override;
  bool is_idle() const override;
  void wake() override;

  /// Called some times a second while a run waits; an exception from it ends the run.
  void set_heartbeat(std::function<void()> heartbeat) { heartbeat_ = std::move(heartbeat); }

  /// If that fails, the context is abandoned.
  bool stop(Duration patience) override;
  std::vector<BegunOperation> begun() const override;
  [[noreturn]] void fail(const std::string& message) const override;

  /// Time 0.
  std::chrono::steady_clock::time_point began() const { return start_.value_or(Clock::now()); }
  /// For the thread that runs the engine.
  SchedulerDelays scheduler_delays() const { return watch_.until(elapsed()); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Admitted {
    bool runs_whole = false;
    Time since{};
  };

  std::optional<gpushare::Event> next_event_in_use(std::optional<Time> deadline);
  void put_into_effect();
  void stop_first(Time time);
  const DeviceOperation& operation_of(const Submission& submission) const;
  Time elapsed() const;
  gpushare::Event take_event();
  bool events_have_turn(Time time);
  bool is_busy() const;
  bool becomes_empty_within(Duration patience);
  void attend(Time time);
  void sleep_until(Time deadline);
  void check_health(Time time);
  void collect(Time time);
  void finish_look(Time time);
  void report_ends(Time time);
  void learn_pace(const LaunchOnGpu& launch);
  void hold_end_of(OperationId operation);
  void tell_held_ends(Time time);
  std::vector<LaunchOnGpu*> take_contenders(Time time);
  void make_room(Time time);
  void hand_to_hardware(Time time);
  void line_up_followers(Time time);
  void choose_ways();
  void start_look(Time time);
  int level_for(const LaunchOnGpu& launch) const;
  bool is_admitted(const LaunchOnGpu& launch) const;
  void let_in(Time time);
  void let_in(OperationId operation);
  void leaves_room(OperationId ended);
  bool is_passing(const LaunchOnGpu& launch, Time time) const;
  RoomClaim claim_of(const LaunchOnGpu& launch) const;

  QuietMoments& quiet_moments() const { return resources_.context->quiet_moments(); }
  bool may_use_gpu(Time time);
  void heed_quiet(Time time);
  void pause(Time time);
  bool try_to_end_pause(Time time);
  void go_on(Time time);
  void stop_all(Time time);
  bool is_empty() const;
  void end_use_if_empty();

  void look_soon() { look_wait_ = shortest_wait; }

  static constexpr Duration shortest_wait{5'000};
  static constexpr Duration longest_wait{500'000};

  LaunchResources& resources_;
  const std::unique_lock<std::mutex> turn_;
  const CurrentContext current_;
  const Program& program_;
  CopyQueue to_device_;
  CopyQueue to_host_;
  std::vector<std::unique_ptr<LaunchOnGpu>> launches_;
  Followers followers_;
  std::unordered_map<OperationId, OperationId> stopped_behind_;  // followers that stop() found, and their leaders
  std::vector<Share> plan_;
  std::unordered_map<OperationId, Admitted> admitted_;  // until their ends have been reported
  /// Admitted, and not among launches_ before some of those have ended: waiting ones cost no time, however many.
  std::deque<std::unique_ptr<LaunchOnGpu>> outside_;
  SharedRoom room_;
  bool plan_is_due_ = false;  // or has not been applied to the launches there are
  std::vector<gpushare::Event> events_;
  std::size_t next_event_ = 0;  // in events_
  std::vector<gpushare::Event> held_ends_;
  int events_since_clock_ = 0;
  int times_put_off_ = 0;           // by nullopt, for some of the events that are there
  std::optional<Time> turn_began_;  // the time for events, after nullopt
  mutable Time last_time_{};        // events are not reported with times before earlier ones or now()
  Time look_started_{};
  Time look_ended_{};
  Duration look_wait_ = shortest_wait;
  bool room_is_kept_ = false;  // for the kernel that reads the tables
  bool is_in_use_ = false;     // something may be on the GPU
  bool is_paused_ = false;     // for a drain
  Time paused_{};
  Time no_pause_before_{};
  SchedulerWatch watch_;
  Time health_checked_{};
  Time heartbeat_at_{};
  std::function<void()> heartbeat_ = [] {};
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::atomic<bool> woken_{false};
  mutable std::optional<Clock::time_point> start_;  // when the time was first read
};

/// A GPU to open sessions on.
LiveDevice live_device(std::shared_ptr<LaunchResources> resources);

}  // namespace gpushare::cuda
