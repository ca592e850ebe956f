// SPDX-License-Identifier: Apache-2.0
// Co-running or serial execution, whichever promises more: a residency mix or an SM partition (mix.cpp) where its
// predicted throughput is at least 1.02 times that of serial execution, else the launch with the shortest predicted
// remaining time first; with `equal_start` (mix.cpp), serial execution must promise 1.1 times as much. There, another
// application has the whole GPU in the gaps between launches, which are measured. Launches short enough to run as they
// were written go in order of arrival, unless an allocation of SMs is measured to be better. Launches with a priority
// above 0 go first on every SM at once, the others keep their quotas behind, and some SMs are reserved for the next
// one, as for small launches that took much longer than they can. Whole programs: partitioning/program_sharing.hpp.
//
// Options: those of mix. antt=1.8: the most throughput among what keeps this bound of the mean slowdown, or what breaks
// it least. A minimum speed excludes serial execution, in which all but one stand still, and so does a latency bound
// shorter than one launch of each application. reserve_share=0.15, the largest share of the SMs that is reserved;
// reserve_ns=5e6, for how long. whole_up_to_ns=2e6, the longest launches that run as they were written.
//
// Suits: workloads for which no policy is known to suit. Fails: one launch of an unprofiled kernel is shared by blind
// proportion, and predictions are of throughput while all applications run, not of their ends.
#include "core/partitioning/program_sharing.hpp"
#include "core/policy_support/ranking.hpp"
#include "core/policy_support/whole_up_to.hpp"
#include "core/tuning/co_scheduler.hpp"
#include "core/tuning/headroom/sm_headroom.hpp"
#include "core/tuning/serial_execution.hpp"

namespace gpushare {
namespace {

class Auto : public Policy {
 public:
  Auto(const CoScheduleOptions& options, const HeadroomOptions& headroom, Duration longest_whole)
      : scheduler_(options),
        headroom_(headroom),
        antt_(options.sets.bounds.antt),
        longest_whole_(nanoseconds(longest_whole)) {}

  bool admits(const RunningLaunch& launch, const State& state) override {
    if (!headroom_.admits(launch, state)) return false;
    scheduler_.exclude(launch.id);
    return true;
  }

  void observe(const Event& event, const State& state) override {
    gaps_.observe(event);
    headroom_.observe(event, state);
    scheduler_.observe(event, state);
    if (!scheduler_.is_affected()) return;  // admitted launches come so often that each of them has to cost little
    remaining_.observe(event, state);
    if (scheduler_.wants(event) && !state.running().empty()) choose(event.time, state.device());
  }

  bool wants(const Event& event) const override { return scheduler_.wants(event); }
  Plan decide(const State& state) const override {
    const bool is_serial = is_serial_ || scheduler_.is_serial();
    return headroom_.applied_to(is_serial ? serial_plan(state) : scheduler_.plan(state), state);
  }

 private:
  Plan serial_plan(const State& state) const {
    const CoSchedule& schedule = scheduler_.schedule();
    Plan plan;
    rank_behind(plan, schedule.first, state);
    const bool is_by_arrival = are_short(schedule, longest_whole_) || has_latency_bound(schedule);
    rank_behind(plan, is_by_arrival ? order_of_arrival(schedule, state) : serial_order(schedule, remaining_, state),
                state);
    rank_behind(plan, schedule.queued, state);
    return plan;
  }

  // Serial execution of launches as they were written is measured like an allocation; that of others is predicted.
  void choose(Time now, const Device& device) {
    const bool may = may_run_serially(scheduler_);
    const bool are_whole = scheduler_.is_conservative(device) && are_short(scheduler_.schedule(), longest_whole_);
    const bool promises_more = may && serial_is_better(scheduler_, gaps_, device, are_whole, antt_);
    if (may && are_whole) scheduler_.suggest_serial_execution(device, promises_more, now);
    is_serial_ = may && (are_whole ? scheduler_.is_serial() : promises_more);
    // A measurement without the reserved SMs cannot be compared with a prediction for all SMs.
    const bool is_comparable = !may || !headroom_.is_reserved(now);
    scheduler_.set_in_force((are_whole || !is_serial_) && is_comparable, now);
  }

  CoScheduler scheduler_;
  RemainingTime remaining_;
  LaunchGaps gaps_;
  SmHeadroom headroom_;
  double antt_;
  double longest_whole_;  // nanoseconds
  bool is_serial_ = false;
};

}  // namespace

std::unique_ptr<Policy> make_auto(const PolicyOptions& options) {
  const Duration longest = whole_up_to(options, Duration(2'000'000));
  CoScheduleOptions co_schedule = CoScheduleOptions::from(options);
  co_schedule.sets.longest_serial = nanoseconds(longest);
  const auto headroom = HeadroomOptions::from(options, co_schedule.patience_with_latency_bound);
  auto of_kernels = std::make_unique<Auto>(co_schedule, headroom, longest);
  return std::make_unique<WholeUpTo>(std::make_unique<UnlessOfPrograms>(std::move(of_kernels)), longest);
}

}  // namespace gpushare
