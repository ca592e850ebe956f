// SPDX-License-Identifier: Apache-2.0
// Side by side or one after the other, whichever promises more: a residency mix or an SM partition (see mix.cpp) where
// its predicted throughput is at least 1.02 times that of taking turns, else the launch with the shortest predicted
// remaining time first; where `caution` holds (mix.cpp), turns must promise 1.1 times as much as a mix. Turns have an
// advantage that mixes lack: while an application's next launch is on its way, another has the whole GPU; these gaps
// are measured. Launches that are short enough to be left whole take turns in order of arrival: each fills the last
// waves of the one before it. Whether that does more than a division is found out as between two divisions: by trying.
// An application with a priority above 0 is latency-critical: its launches go first on every SM at once, the rest keep
// their quotas behind it, and some SMs stay free for the next one, as for one without priority whose few blocks had to
// wait for much longer than they run.
//
// Options: those of mix. antt=1.8: among what keeps this bound of the mean slowdown, the most throughput; what breaks
// it less where nothing does. A floor excludes taking turns, where somebody always stands still, and so does a latency
// bound that is shorter than a round of turns. reserve=0.15, the most of the SMs that is kept; reserve_us=5000, for how
// long. whole_up_to_us=2000, the longest launches that are left whole.
//
// Suits: whoever does not know which policy suits. Fails: one launch of a kernel without a profile is shared by blind
// proportion, and predictions are of throughput while all are there, not of who is done first.
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
    if (!mixer_.is_concerned()) return;  // such launches come so often that each of them has to cost little
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

  // Launches that are left whole take turns in the way that is measured; others, shortest first, one at a time.
  void choose(Time now, const Device& device) {
    const bool may = may_take_turns(mixer_);
    const bool are_whole = mixer_.is_cautious(device) && are_short(mixer_.seating(), longest_whole_);
    const bool promise_more = may && turns_promise_more(mixer_, gaps_, device, are_whole, antt_);
    if (may && are_whole) mixer_.consider_turns(device, promise_more, now);
    takes_turns_ = may && (are_whole ? mixer_.takes_turns() : promise_more);
    // What is measured on fewer SMs is no match for turns, which are promised on all.
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
