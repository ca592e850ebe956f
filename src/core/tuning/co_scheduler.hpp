// SPDX-License-Identifier: Apache-2.0
// Plans for launches that run side by side: what `mix` and `auto` have in common. The launches of a moment are
// classified (LaunchClassifier); those that share the GPU form a co-run set, of which CoRunSets remembers the best
// known allocation of SMs: predicted by the contention model at first, then tuned by measurement while the set runs.
// QosGuard keeps minimum speeds and latency bounds.
#pragma once

#include <map>
#include <vector>

#include "core/policy_support/options.hpp"
#include "core/tuning/active_applications.hpp"
#include "core/tuning/co_run_sets.hpp"
#include "core/tuning/excluded_launches.hpp"
#include "core/tuning/qos_guard.hpp"

namespace gpushare {

/// The options of `mix` and `auto`.
struct CoScheduleOptions {
  ClassifierOptions classifier{};
  CoRunSetOptions sets{};
  Duration patience{};                     ///< how long a slot is kept after a launch has ended
  Duration patience_with_latency_bound{};  ///< the same for an application with a latency bound

  /// min_speed, antt, patience_ns, reserve_ns, small_ns, equal_start, probe_loss, probe_ns.
  static CoScheduleOptions from(const PolicyOptions& options);
};

class CoScheduler {
 public:
  explicit CoScheduler(const CoScheduleOptions& options)
      : options_(options), active_(options.patience, options.patience_with_latency_bound), sets_(options.sets) {}

  /// A launch that has just arrived and runs beside whatever is planned.
  void exclude(OperationId launch) { excluded_.add(launch); }

  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// Does the event that was observed last concern any launch that is planned for?
  bool is_affected() const { return is_affected_; }

  /// Is there a reason for another plan? To be asked about the event that was observed last.
  bool wants(const Event& event) const { return is_affected_ && (may_change_schedule(event) || changed_); }

  const CoSchedule& schedule() const { return schedule_; }
  /// The speeds of launches that have slots, measured or else predicted. None where the set has an unprofiled
  /// kernel and has not been measured.
  const SpeedEstimate& estimate() const { return current_->estimate(); }

  /// Is estimate() measured, with all delays between launches in it?
  bool has_measured() const { return current_->has_measured(); }

  /// Serial execution is one more allocation to be measured for this co-run set, and the first one if it is expected to
  /// be better and nothing has been measured.
  void suggest_serial_execution(const Device& device, bool is_expected_to_be_better, Time now);
  bool is_serial() const;

  /// Is plan() in force? While it is not, what is measured says nothing about it.
  void set_in_force(bool is_in_force, Time now);

  /// Is an allocation other than an equal partition to be adopted only after it has been measured?
  bool is_conservative(const Device& device) const { return sets_.is_conservative(device); }

  /// Launches that go first, then the slots with their parts of the SMs, then the queue.
  Plan plan(const State& state) const;

 private:
  static bool may_change_schedule(const Event& event);
  const SmAllocation& allocation() const { return current_->tuner.current(); }
  void forget(ApplicationId application);
  void reschedule(const State& state);
  bool drop_slot(const State& state);
  void raise_deficient(Time now, const Device& device);
  void continue_search(Time now);
  void follow_progress(const Event& event);
  bool can_measure() const;
  void tune(Time now, const Device& device);
  std::optional<Time> next_measurement() const;
  bool is_measurement_due(const Event& event) const;

  CoScheduleOptions options_;
  ActiveApplications active_;
  ExcludedLaunches excluded_;
  QosGuard guard_;
  KernelCatalogue catalogue_;
  CoSchedule schedule_;
  std::vector<ApplicationId> in_slots_;              // when the schedule was made
  std::map<ApplicationId, BlockProgress> progress_;  // of those that have not ended
  CoRunSets sets_;
  CoRunSet* current_ = nullptr;  // the one that was scheduled last
  bool is_affected_ = false;     // by the last event
  bool changed_ = false;
  bool is_in_force_ = true;
  Time next_search_step_{};
};

}  // namespace gpushare
