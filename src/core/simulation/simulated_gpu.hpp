// SPDX-License-Identifier: Apache-2.0
// A GPU in virtual time: discrete events at the level of thread blocks. Rates change only when the blocks resident
// on an SM change, so a block that replaces one of its own kind costs one heap operation.
#pragma once

#include <algorithm>
#include <deque>
#include <variant>
#include <vector>

#include "core/engine/gpu.hpp"
#include "core/simulation/dispatch_schedule.hpp"
#include "core/simulation/event_queue.hpp"
#include "core/simulation/launches/queued_successors.hpp"
#include "core/simulation/launches/ranked_launches.hpp"
#include "core/simulation/launches/simulated_launches.hpp"
#include "core/simulation/pending_events.hpp"
#include "core/simulation/simulated_copies.hpp"
#include "core/simulation/sm_array.hpp"
#include "core/simulation/virtual_clock.hpp"

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
  Time now() const { return clock_.time(); }
  /// When something may happen next without another call. Requires that next_event() has just returned nothing.
  std::optional<Time> next_change() const;
  /// The same to a fraction of a nanosecond, and at any time; nothing is at EarliestOf::never.
  double time_of_next_change();
  /// As next_event(), but to a fraction of a nanosecond.
  std::optional<Event> next_event_within(double limit);
  /// Time has passed without a change.
  void pass(double until) { clock_.move_to(std::max(clock_.now(), until)); }
  double exact_time() const { return clock_.now(); }
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

  struct SentPlan {
    Plan plan;
    double at;
    std::uint64_t launches;  // submitted before it: the plan holds for these only
  };

  double next_time() const { return std::min(sms_.next_end(), timers_.time()); }
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

  Device device_;
  std::uint64_t seed_;
  VirtualClock clock_;
  SmArray sms_;
  DispatchSchedule dispatch_;
  TimerQueue<Task> timers_;
  SimulatedLaunches launches_;
  QueuedSuccessors successors_;
  RankedLaunches ranks_;
  std::deque<SentPlan> plans_on_their_way_;
  SimulatedCopies copies_;
  PendingEvents pending_;
};

}  // namespace gpushare
