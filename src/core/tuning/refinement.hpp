// SPDX-License-Identifier: Apache-2.0
// Hill climbing on the GPU itself, for what the model did not foretell. The division in force is measured, then its
// neighbours are, one after the other, those farthest away first; one that is clearly better is stayed with, and its
// neighbours are next. Between two probes the best so far holds for so long that probes take no more than their share
// of the time; where it does not keep the floors or the bound, the next probe follows at once, and gives most to
// whoever lacks most. Nobody's rate alone being known, each kernel is first given the whole GPU for a window. Shared
// SMs and SMs of one's own are two hills: when no neighbour is better, the best of the other kind is climbed from, too,
// if it is nearly as good. Then the search is over.
//
// Of a new division a first window goes by: quotas have to act, launches of the division before it end, hosts come
// again. Then it is measured for a window, and for as long as four where it is neither clearly worse nor better. The
// best is measured anew at every rest, also when the search is over, and left where something else has turned out to be
// better.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/tuning/measuring_window.hpp"
#include "core/tuning/neighbours.hpp"
#include "core/tuning/trials.hpp"

namespace gpushare {

struct ProbeOptions {
  double share = 0;   ///< of the time that goes into probes, at most; 0: nothing is probed
  Duration window{};  ///< of one measurement, at least
};

class Refinement {
 public:
  /// `alone`: blocks per nanosecond of every kernel with the GPU to itself, 0 where that is not known.
  Refinement(Division start, std::vector<Contender> contenders, std::vector<double> alone, const Bounds& bounds,
             const ProbeOptions& options);

  /// What should be in force now.
  const Division& current() const { return current_; }
  bool is_done() const { return phase_ == Phase::Done; }
  /// Of the best so far; nullopt before it has been measured.
  const std::optional<Outlook>& measured() const { return measured_; }
  double alone(std::size_t kernel) const { return alone_[kernel]; }

  /// All of the company are there (again), and current() is about to be in force.
  void begin(Time now);
  /// Nothing will be seen before begin(): what is being tried is tried then.
  void pause(Time now);

  /// This kernel is to have so much of its speed alone, as measured here, whatever was asked for before. Heeded once
  /// the search has ended.
  void ask(std::size_t kernel, double floor, Time now, const Device& device);

  /// This may be better: it is tried next, after what was suggested before, if anything is measured here at all.
  void suggest(Division division, Time now);

  /// Is there nothing to be seen now?
  bool is_idle(Time now) const { return (phase_ == Phase::Done && !is_measuring()) || now < next_look_; }
  /// When to look, though no block may have ended by then: of those who stand still while somebody is alone none does.
  std::optional<Time> wake_at() const;
  /// What everybody has done up to now. Says whether current() has changed; then begin() has been done.
  bool look(Time now, std::span<const BlockProgress> progress, const Device& device);

 private:
  enum class Phase { Alone, Base, Rest, Probe, Done };

  bool is_measuring() const { return measured_ && options_.share > 0; }
  bool is_at_rest() const { return phase_ == Phase::Rest || phase_ == Phase::Done; }
  bool is_trial() const { return phase_ == Phase::Probe || phase_ == Phase::Alone; }
  Duration probing(Time now) const { return now - began_ + spent_; }
  void give_up(Time now);
  void abandon(Time now, const Device& device);
  bool is_worse_by(double share, const Outlook& seen) const;
  bool is_unclear(const Outlook& seen) const;
  double rate(Time now, const BlockProgress& progress, std::size_t kernel);
  Outlook outlook(Time now, std::span<const BlockProgress> progress);
  void look_alone(Time now, std::span<const BlockProgress> progress);
  void finish_alone();
  void settle(Time now, std::span<const BlockProgress> progress, const Device& device);
  void measure(Time now, std::span<const BlockProgress> progress, const Device& device);
  void end_rest(Outlook seen, Time now, const Device& device);
  void judge(Outlook seen, Time now, const Device& device);
  void move_to(Division division, Outlook seen);
  void look_around(const Device& device);
  std::vector<Division> unknown_around(const Device& device, const Division& division, double& reach) const;
  void favour(std::size_t kernel);
  void rest(Time now);
  void rest_for(Duration probe, Time now);
  void rest_briefly(Time now);
  void next_probe(Time now);
  void enter(Phase phase, Division division, Time now);
  void restart(Time now);

  std::vector<Contender> contenders_;
  std::vector<double> alone_;
  Bounds bounds_;
  ProbeOptions options_;
  Phase phase_;
  Division best_;
  Division current_;
  std::optional<Outlook> measured_;
  std::vector<Division> suggested_;  // the next one first
  std::vector<Division> untried_;    // the next one last
  Trials trials_;
  MeasuringWindow window_;
  double reach_ = farthest_reach;
  std::size_t solo_ = 0;     // whose turn it is alone
  bool is_settling_ = true;  // the first window of this phase is not over
  int interruptions_ = 0;    // of what is tried, pauses included
  Time began_{};             // the phase, or since somebody came back
  Duration spent_{};         // in the phase before that, at most: how long who came back was away is not known
  Time next_look_{};         // when a window may begin or end
  Time rest_until_{};
  double block_time_ = 0;  // of the longest, as seen last: so long those of the division before are there
};

}  // namespace gpushare
