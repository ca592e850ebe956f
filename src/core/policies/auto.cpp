// SPDX-License-Identifier: Apache-2.0
// Chooses between co-running and serial execution by predicted throughput: a residency mix or an SM partition (see
// mix.cpp) where it promises at least 1.02 times as much as serial execution, else the launch with the shortest
// predicted remaining time first. Where `caution` holds (mix.cpp), serial execution must promise 1.1 times as much as a
// mix. Serial execution has an advantage that mixes lack: in the gap before an application's next launch another
// application has the whole GPU; these gaps are measured. Launches that are short enough to stay non-preemptible run in
// order of arrival, and each fills the last waves of the one before it. Whether that is better than an SM allocation is
// measured, as between two SM allocations. An application with a priority above 0 is latency-critical: its launches go
// first on every SM at once, the others keep their quotas behind it, and some SMs stay reserved for its next launch.
// SMs are also reserved for an application without priority if its few blocks had to wait for much longer than they
// run.
//
// Options: those of mix. antt=1.8: the most throughput among the choices that keep this bound of the mean slowdown, or
// the smallest violation where none keeps it. A minimum speed excludes serial execution, in which all applications but
// one stand still, and so does a latency bound that is shorter than a round. reserve=0.15, the largest part of the SMs
// that is reserved; reserve_us=5000, for how long. whole_up_to_us=2000, the longest launches that are non-preemptible.
//
// Suits: use without knowledge of the workload. Fails: a single launch of a kernel without a profile is shared by fixed
// proportions, and predictions are of throughput while all applications are present, not of their order of completion.
#include "core/policy_support/ranking.hpp"
#include "core/policy_support/whole_up_to.hpp"
#include "core/tuning/mixer.hpp"
#include "core/tuning/reserve.hpp"
#include "core/tuning/turns.hpp"

namespace gpushare {
namespace {

class Auto : public Policy {
 public:
  Auto(const MixOptions& options, const ReserveOptions& reserve, double longest_whole_us)
      : mixer_(options), reserve_(reserve), antt_(options.antt), longest_whole_(1e3 * longest_whole_us) {}

  bool admits(const RunningLaunch& launch, const State& state) override {
    if (!reserve_.admits(launch, state)) return false;
    mixer_.leave_out(launch.id);
    return true;
  }

  void observe(const Event& event, const State& state) override {
    gaps_.observe(event, state);
    reserve_.observe(event, state);
    mixer_.observe(event, state);
    if (!mixer_.is_concerned()) return;  // these launches are frequent, so each must cost little
    remaining_.observe(event, state);
    if (mixer_.wants(event) && !state.running().empty()) choose(event.time, state.device());
  }

  bool wants(const Event& event) const override { return mixer_.wants(event); }
  Plan decide(const State& state) const override {
    return reserve_.applied_to(takes_turns_ || mixer_.takes_turns() ? turns(state) : mixer_.plan(state), state);
  }

 private:
  Plan turns(const State& state) const {
    const Seating& seating = mixer_.seating();
    Plan plan;
    rank_behind(plan, seating.first, state);
    const bool is_in_order = are_short(seating, longest_whole_) || has_latency_bound(seating);
    rank_behind(plan, is_in_order ? order_of_arrival(seating, state) : serial_order(seating, remaining_, state), state);
    rank_behind(plan, seating.waiting, state);
    return plan;
  }

  // Non-preemptible launches run serially if that is measured to be better; others run shortest first, one at a time.
  void choose(Time now, const Device& device) {
    const bool may = may_take_turns(mixer_);
    const bool are_whole = mixer_.is_cautious(device) && are_short(mixer_.seating(), longest_whole_);
    const bool promise_more = may && turns_promise_more(mixer_, gaps_, device, are_whole, antt_);
    if (may && are_whole) mixer_.consider_turns(device, promise_more, now);
    takes_turns_ = may && (are_whole ? mixer_.takes_turns() : promise_more);
    // Measurements on fewer SMs cannot be compared with serial execution, which is predicted for all SMs.
    const bool is_comparable = !may || !reserve_.is_kept(now);
    mixer_.heed((are_whole || !takes_turns_) && is_comparable, now);
  }

  Mixer mixer_;
  RemainingTime remaining_;
  LaunchGaps gaps_;
  Reserve reserve_;
  double antt_;
  double longest_whole_;  // nanoseconds
  bool takes_turns_ = false;
};

}  // namespace

std::unique_ptr<Policy> make_auto(const PolicyOptions& options) {
  const double longest_us = whole_up_to_us(options, 2000);
  MixOptions mix = MixOptions::from(options);
  mix.longest_in_turns = 1e3 * longest_us;
  auto policy = std::make_unique<Auto>(mix, ReserveOptions::from(options, mix.reserve), longest_us);
  return std::make_unique<WholeUpTo>(std::move(policy), longest_us);
}

}  // namespace gpushare
