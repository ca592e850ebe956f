// SPDX-License-Identifier: Apache-2.0
// Tunes the allocation of one co-run set while it runs: a hill climb over measured throughput, for what the contention
// model does not predict. The allocation in force is measured, then its neighbours, those farthest away first; a
// clearly better one is adopted, and its neighbours are next. Shared SMs and a partition are two hills: when no
// neighbour is better, the best allocation of the other kind is climbed from, too, if it is nearly as good.
//
//              every rate alone is known          bounds are broken
//   (start) ---------------------> Baseline ------------------------+
//      |                              ^ |                           |
//      | some rate alone              | | measured                  v     bounds are broken:
//      | is unknown                   | +---------> Rest ------> Probe --+ the next candidate
//      v        every kernel measured |              ^ |  rest is  |  ^  | at once
//     Solo ---------------------------+              | |  over     |  +--+
//      |  one kernel at a time has                   | |           |
//      |  the whole GPU                              +-|-----------+ measured (adopted or not), given up, paused
//      |                                               |           |
//      |  blocks are too long to measure               v           v   no candidate is left
//      +-------------------------------------------> Done <--------+
//                                                      |
//                    a suggestion, a new minimum speed,|or a sample that shows something else to be better
//                                                      +-----> Rest, Probe
//
// Rest: the best allocation is in force for so long that what the probe before lost is a small share of the throughput
// since. So a bad probe is followed by a long rest, and one that lost nothing by the next one. How long the kernels
// will stay together is not known; the longer they have, the more may be tried. In Rest and Done the best allocation is
// sampled again, and left where another one has turned out to be better.
// Every phase begins with a settling time: quotas have to take effect, launches under the old allocation to end, hosts
// to return. Its first window is dropped, or rejects what is hopeless. Then the allocation is measured for a window,
// and for as long as eight where the result is unclear.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/tuning/online/allocation_measurement.hpp"
#include "core/tuning/online/phase_time.hpp"
#include "core/tuning/online/probe_candidates.hpp"
#include "core/tuning/online/sample_history.hpp"
#include "core/tuning/tuning.hpp"

namespace gpushare {

struct ProbeOptions {
  double loss = 0;    ///< share of the throughput that probes may cost, at most; 0: nothing is probed
  Duration window{};  ///< of one measurement, at least
  Duration settling = CoRunTuning{}.allocation_settling;
};

class OnlineTuner {
 public:
  /// `rates_alone`: blocks per nanosecond of every kernel with the whole GPU, 0 where that is not known.
  OnlineTuner(SmAllocation start, std::vector<Contender> contenders, std::vector<double> rates_alone,
              const Bounds& bounds, const ProbeOptions& options);

  /// The allocation that should be in force now.
  const SmAllocation& current() const { return current_; }
  bool is_done() const { return phase_ == Phase::Done; }
  /// The speeds under the best allocation so far; nullopt before it has been measured.
  const std::optional<SpeedEstimate>& measured() const { return measured_; }
  double rate_alone(std::size_t kernel) const { return rates_alone_[kernel]; }

  /// The whole co-run set runs (again), and current() is about to be in force.
  void begin(Time now);
  /// Nothing can be measured before begin(): a probe is postponed until then.
  void pause(Time now);

  /// Sets the measured speed that a kernel has to keep, whatever was asked for before. Has an effect once the search is
  /// over; until then the search sees by itself which kernel is too slow.
  void require(std::size_t kernel, double min_speed, Time now, const Device& device);

  /// A candidate that may be better: it is probed next, after earlier suggestions, if anything is measured here at all.
  void suggest(SmAllocation allocation, Time now);

  /// Is there nothing to be measured now?
  bool is_idle(Time now) const { return (phase_ == Phase::Done && !is_measuring()) || now < measurement_.next_step(); }
  /// When to call step() though no block may have ended: while one kernel has the whole GPU, none of the others does.
  std::optional<Time> wake_at() const;
  /// `progress`: of all kernels up to now. Has current() changed? Then begin() has been done.
  bool step(Time now, std::span<const BlockProgress> progress, const Device& device);

 private:
  enum class Phase { Solo, Baseline, Rest, Probe, Done };

  bool is_measuring() const { return measured_ && options_.loss > 0; }
  bool has_best_in_force() const { return phase_ == Phase::Rest || phase_ == Phase::Done; }
  bool is_experiment() const { return phase_ == Phase::Probe || phase_ == Phase::Solo; }

  // Measurements.
  SpeedEstimate measured_speeds(Time now, std::span<const BlockProgress> progress);
  bool is_worse_by(double share, const SpeedEstimate& seen) const;
  double lost_under(const SpeedEstimate& seen) const;
  bool is_unclear(const SpeedEstimate& seen) const;
  bool may_wait(const SmAllocation& suggestion) const;

  // Ends of windows, by phase.
  void end_solo_window(Time now, std::span<const BlockProgress> progress);
  void end_settling(Time now, std::span<const BlockProgress> progress, const Device& device);
  void end_window(Time now, std::span<const BlockProgress> progress, const Device& device);
  void end_rest(SpeedEstimate seen, Time now, const Device& device);
  void end_probe(SpeedEstimate seen, Time now, const Device& device);

  // Candidates.
  void adopt(SmAllocation allocation, SpeedEstimate seen);
  void reject_interrupted(Time now);
  void reject_unmeasurable(Time now, const Device& device);
  void find_candidates(const Device& device);

  // Transitions.
  void enter_solo_or_baseline();
  void rest_or_probe(double lost, Time now);
  void rest_after_probe(Duration probe, double lost, Time now);
  void rest_briefly(Time now);
  void probe_next(Time now);
  void enter(Phase phase, SmAllocation allocation, Time now);

  std::vector<Contender> contenders_;
  std::vector<double> rates_alone_;
  Bounds bounds_;
  ProbeOptions options_;
  Phase phase_;
  SmAllocation best_;
  SmAllocation current_;
  std::optional<SpeedEstimate> measured_;
  ProbeCandidates candidates_;
  SampleHistory history_;
  AllocationMeasurement measurement_;
  PhaseTime phase_time_;
  std::size_t solo_kernel_ = 0;
  Time rest_until_{};
};

}  // namespace gpushare
