// SPDX-License-Identifier: Apache-2.0
// A GPU in virtual time: discrete events at the level of thread blocks. Rates change only when the blocks resident
// on an SM change, so a block that replaces one of its own kind costs one heap operation.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <variant>
#include <vector>

#include "core/engine/gpu.hpp"
#include "core/simulation/active_launch.hpp"
#include "core/simulation/bandwidth_sharing.hpp"
#include "core/simulation/event_queue.hpp"
#include "core/simulation/queued_successors.hpp"
#include "core/simulation/ranked_launches.hpp"
#include "core/simulation/simulated_copies.hpp"
#include "core/simulation/sm_speed_cache.hpp"
#include "core/simulation/streaming_multiprocessor.hpp"

namespace gpushare {

class SimulatedGpu : public Gpu {
 public:
  /// The same device, seed and plans give the same events, to the nanosecond.
  SimulatedGpu(const Device& device, std::uint64_t seed);

  const Device& device() const override { return device_; }
  void submit(const Submission& submission) override;
  void announce(const Submission& next) override { successors_.announce(next); }
  void apply(const Plan& plan) override;
  void admit(OperationId operation) override;
  void withdraw(OperationId operation) override;
  std::optional<Event> next_event(std::optional<Time> deadline) override;

  /// The present virtual time.
  Time now() const { return time_; }
  /// When something may happen next without another call. Requires that next_event() has just returned nothing.
  std::optional<Time> next_change() const;
  /// The same to a fraction of a nanosecond, and at any time; nothing is at EarliestOf::never.
  double time_of_next_change();
  /// As next_event(), but to a fraction of a nanosecond.
  std::optional<Event> next_event_within(double limit);
  /// Time has passed without a change.
  void pass(double until) { move_to(std::max(now_, until)); }
  double exact_time() const { return now_; }
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

  /// When an SM may start its next block, and whether a timer waits for that.
  struct SmDispatch {
    double open_at = 0;
    bool due = false;
  };

  struct SentPlan {
    Plan plan;
    double at;
    std::uint64_t launches;  // submitted before it: the plan holds for these only
  };

  void move_to(double now);
  ActiveLaunch* find(OperationId launch) const;
  void make_effective(const SentPlan& sent);
  void leave_to_successor(const ActiveLaunch& ended);
  void start_copies(Copy::Direction direction);

  bool find_events(double limit);
  void settle();
  void dispatch_everywhere();
  bool dispatch_one(SmId sm);
  const RankedLaunches::Ranked* next_for(SmId sm);
  void start_block(SmId sm, const RankedLaunches::Ranked& ranked);

  void end_block();
  void report_end_of(ActiveLaunch& launch);
  void carry_out(const Task& task);

  bool set_rates(SmId sm);
  void share_bandwidth();
  void schedule(SmId sm) { ends_.set(index(sm), sms_[index(sm)].find_next_end()); }

  Device device_;
  std::uint64_t seed_;
  double now_ = 0;  // nanoseconds
  Time time_{};     // now_ in whole nanoseconds, as in events
  std::vector<StreamingMultiprocessor> sms_;
  std::vector<SmDispatch> dispatch_;
  EarliestOf ends_;
  BandwidthSharing bandwidth_;
  TimerQueue<Task> timers_;
  std::vector<std::unique_ptr<ActiveLaunch>> launches_;  // by OperationId
  std::vector<ActiveLaunch*> unended_;
  QueuedSuccessors successors_;
  std::uint64_t submitted_ = 0;  // launches
  RankedLaunches ranks_;
  std::deque<SentPlan> plans_on_their_way_;
  SmSpeedCache speeds_;
  SimulatedCopies copies_;
  bool uses_off_sm_ = false;

  std::vector<SmId> freed_;  // SMs with room for the dispatcher to fill
  bool dispatch_all_ = false;
  bool rates_changed_ = false;
  std::vector<Event> pending_;
  std::size_t delivered_ = 0;
};

}  // namespace gpushare
