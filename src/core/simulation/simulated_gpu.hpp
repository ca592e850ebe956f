// SPDX-License-Identifier: Apache-2.0
// A GPU in virtual time: discrete events at the level of thread blocks. Rates change only when the blocks resident
// on an SM change, so a block that replaces one of its own kind costs one heap operation.
#pragma once

#include <deque>
#include <memory>
#include <variant>
#include <vector>

#include "core/engine/gpu.hpp"
#include "core/simulation/active_launch.hpp"
#include "core/simulation/bandwidth_sharing.hpp"
#include "core/simulation/event_queue.hpp"
#include "core/simulation/known_speeds.hpp"
#include "core/simulation/launches_in_line.hpp"
#include "core/simulation/simulated_copies.hpp"
#include "core/simulation/streaming_multiprocessor.hpp"

namespace gpushare {

class SimulatedGpu : public Gpu {
 public:
  /// The same device, seed and plans give the same events, to the nanosecond.
  SimulatedGpu(const Device& device, std::uint64_t seed);

  const Device& device() const override { return device_; }
  void submit(const Submission& submission) override;
  void announce(const Submission& next) override { in_line_.announce(next); }
  void apply(const Plan& plan) override;
  void admit(OperationId operation) override;
  void withdraw(OperationId operation) override;
  std::optional<Event> next_event(std::optional<Time> deadline) override;

  /// How far it has come.
  Time now() const { return time_; }
  /// When something may happen next, unless somebody calls. Requires that next_event() has just returned nothing.
  std::optional<Time> next_change() const;
  /// Launches that have blocks on an SM, and copies under way.
  std::vector<OperationId> operations_at_work() const;

 private:
  struct DispatchDue {
    SmId sm;
  };
  struct LaunchReady {};
  struct PlanArrived {};
  struct CopyDone {
    Copy::Direction direction;
  };
  struct LaunchDone {
    OperationId launch;
  };
  using Task = std::variant<DispatchDue, LaunchReady, PlanArrived, CopyDone, LaunchDone>;

  struct Ranked {
    ActiveLaunch* launch;
    Quota quota;
    bool leaves_rest = false;
  };

  /// When an SM may start its next block, and whether a timer waits for that.
  struct SmDispatch {
    double open_at = 0;
    bool due = false;
  };

  struct SentPlan {
    Plan plan;
    double at;
    std::uint64_t launches;  // submitted before it, to whom alone it applies
  };

  void move_to(double now);
  ActiveLaunch* find(OperationId launch) const;
  void make_effective(const SentPlan& sent);
  void keep_places(const std::vector<Ranked>& before);
  bool all_have_a_share() const;
  void let_next_follow(const ActiveLaunch& ended);
  void start_copies(Copy::Direction direction);

  bool find_events(double limit);
  void settle();
  void dispatch_everywhere();
  bool dispatch_one(SmId sm);
  const Ranked* next_for(SmId sm);
  void start_block(SmId sm, const Ranked& ranked);

  void end_block();
  void tell_end_of(ActiveLaunch& launch);
  void carry_out(const Task& task);

  bool set_rates(SmId sm);
  void share_bandwidth();
  void schedule(SmId sm) { ends_.set(index(sm), sms_[index(sm)].find_next_end()); }

  Device device_;
  std::uint64_t seed_;
  double now_ = 0;  // nanoseconds
  Time time_{};     // now_ in whole nanoseconds, as events tell it
  std::vector<StreamingMultiprocessor> sms_;
  std::vector<SmDispatch> dispatch_;
  EarliestOf ends_;
  BandwidthSharing bandwidth_;
  TimerQueue<Task> timers_;
  std::vector<std::unique_ptr<ActiveLaunch>> launches_;  // by OperationId
  std::vector<ActiveLaunch*> unended_;
  LaunchesInLine in_line_;
  std::uint64_t submitted_ = 0;  // launches
  std::uint64_t heard_ = 0;      // of them, those that the plan in force knows of
  std::vector<Ranked> ranks_;
  std::deque<SentPlan> plans_on_their_way_;
  KnownSpeeds speeds_;
  SimulatedCopies copies_;
  bool uses_off_sm_ = false;

  std::vector<SmId> freed_;  // SMs with room for the dispatcher to fill
  bool dispatch_all_ = false;
  bool rates_changed_ = false;
  std::vector<Event> pending_;
  std::size_t delivered_ = 0;
};

}  // namespace gpushare
