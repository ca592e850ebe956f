// SPDX-License-Identifier: Apache-2.0
// All launches of a run on a real GPU: which share and which places each has, which goes to the hardware next, which is
// queued behind another, and which leaves.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/residency/residency_arbiter.hpp"
#include "core/runtime/bypass_queue.hpp"
#include "core/runtime/event_buffer.hpp"
#include "core/runtime/launch/gpu_launch.hpp"
#include "core/runtime/poll_schedule.hpp"
#include "core/runtime/quiescence.hpp"
#include "core/runtime/successors.hpp"
#include "core/session/live_gpu.hpp"

namespace gpushare {

/// Makes the launches, and knows what the hardware offers them.
class LaunchHardware {
 public:
  virtual ~LaunchHardware() = default;

  virtual const Device& device() const = 0;
  virtual KernelHistory& history() = 0;
  /// How many stream priorities launches may use.
  virtual int levels() const = 0;
  /// The needs of the block that reads the workers' tables, while it needs a place on some SM.
  virtual std::optional<BlockNeeds> place_for_poll() const = 0;

  virtual std::unique_ptr<GpuLaunch> make(const Submission& submission) = 0;
  /// In its original form, on SMs that are reserved for it.
  virtual std::unique_ptr<GpuLaunch> make_on_reserved_sms(const GpuLaunch& launch) = 0;
  /// The same launch, which has not begun, in the mode that suits its share better; nullptr where it is in that.
  virtual std::unique_ptr<GpuLaunch> in_better_mode(const GpuLaunch& launch) = 0;
};

class LaunchSet {
 public:
  LaunchSet(LaunchHardware& hardware, DrainRequests& drains, EventBuffer& events, PollSchedule& polls);

  void submit(const Submission& submission, Time now);
  void announce(const Submission& next) { successors_.announce(next); }
  bool is_leaving(OperationId announced) const { return successors_.is_leaving(announced); }
  /// Takes effect with put_into_effect().
  void apply(const std::vector<Share>& plan);
  void admit(OperationId operation, Time now);
  void withdraw(OperationId operation, Time now);

  /// Does the plan differ from what holds?
  bool plan_is_due() const { return plan_is_due_; }
  void put_into_effect(Time now);
  /// The end of this launch has been reported.
  void reported_end(OperationId operation);

  /// Begins or ends a drain where that is due.
  void check_drain(Time now);
  /// Drains need not wait for this set where it has nothing on the GPU.
  void leave_use() {
    quiescence_.leave_use([this] { return is_off_hardware(); });
  }

  /// Collects ends on the hardware.
  void collect(Time now);
  /// Processes a poll of the tables.
  void observe(Time now);
  void make_room(Time now);
  void hand_to_hardware(Time now);
  void queue_successors(Time now);

  /// What the next poll might show.
  PollNeed poll_need() const;
  bool reserves_place_for_poll() const { return arbiter_.reserves_place_for_poll(); }
  bool is_idle(Time now) const;
  /// May another device end one of its launches?
  bool waits_for_devices() const;
  /// Nothing happens here before another device ends a launch: will none, for one that there is?
  bool waits_in_vain();
  /// Has it been asked that since anything happened, and does it wait for other devices?
  bool is_known_to_wait() const;
  /// Something does.
  void goes_on();

  /// Everything leaves, for good.
  void stop(Time now);
  /// Is anything on the hardware, or not collected?
  bool is_busy() const;
  /// What of it had begun, for the report of a fault.
  std::vector<BegunOperation> begun() const;

 private:
  bool is_off_hardware() const;
  void evict_stopped(Time now);
  void choose_modes();
  void drain(Time now);
  void evict_all(Time now);
  std::vector<GpuLaunch*> participants(Time now);
  ResidencyRequest request_of(const GpuLaunch& launch) const;
  int level_for(const GpuLaunch& launch) const;
  void report_ends(Time now);
  void learn_time_of(const GpuLaunch& launch);

  LaunchHardware& hardware_;
  EventBuffer& events_;
  PollSchedule& polls_;
  Quiescence quiescence_;
  ResidencyArbiter arbiter_;
  BypassQueue bypass_;
  Successors successors_;
  std::vector<std::unique_ptr<GpuLaunch>> launches_;
  std::unordered_map<OperationId, OperationId> stopped_behind_;  // successors that stop() found, and their leaders
  std::vector<Share> plan_;
  bool plan_is_due_ = false;  // or has not been applied to the launches there are
};

}  // namespace gpushare
