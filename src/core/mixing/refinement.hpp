// SPDX-License-Identifier: Apache-2.0
// Hill climbing on the GPU itself, for what the model did not foretell. The division in force is measured for a window,
// then its neighbours are, one after the other; one that is at least 2 % better is stayed with, and its neighbours are
// next. Between two probes the best so far holds for so long that probes take no more than their share of the time;
// where it does not keep the floors or the bound, the next probe follows at once, and gives most to whoever lacks most.
// Nobody's rate alone being known, each kernel is first given the whole GPU for a window. Ends when no neighbour is
// better; what has been found holds from then on. A start that does less than was expected of another division gives
// way to that one.
//
// A window begins when the new quotas have had time to act. Windows are meant to be of 500 us and more: reports of a
// real GPU come up to 100 us late.
#pragma once

#include <optional>
#include <vector>

#include "core/mixing/block_speeds.hpp"
#include "core/mixing/outlook.hpp"

namespace gpushare {

struct ProbeOptions {
  double share = 0;   ///< of the time that goes into probes, at most; 0: nothing is probed
  Duration window{};  ///< of one measurement, at least
};

/// What the start has to be better than, once it has been measured.
struct Fallback {
  Division division;
  Outlook outlook;
};

class Refinement {
 public:
  /// `alone`: blocks per nanosecond of every kernel with the GPU to itself, 0 where that is not known.
  Refinement(Division start, std::vector<Contender> contenders, std::vector<double> alone, const Bounds& bounds,
             const ProbeOptions& options, std::optional<Fallback> fallback = std::nullopt);

  /// What should be in force now.
  const Division& current() const { return current_; }
  bool is_done() const { return phase_ == Phase::Done; }
  /// Of the best so far; nullopt before it has been measured.
  const std::optional<Outlook>& measured() const { return measured_; }
  double alone(std::size_t kernel) const { return alone_[kernel]; }

  /// All of the company are there (again), and current() is about to be in force.
  void begin(Time now);

  /// This kernel is to have so much of its speed alone, as measured here, whatever was asked for before.
  void ask(std::size_t kernel, double floor, Time now, const Device& device);

  /// Blocks of this kernel ended. Says whether current() has changed; then begin() has been done.
  bool add(const Event& ended, std::size_t kernel, const Device& device);
  /// The same of blocks that say nothing, as not everybody has some to come. Launches of a single wave have no others:
  /// nobody waits for their windows for ever.
  bool pass(Time now);

 private:
  enum class Phase { Alone, Base, Rest, Probe, Done };

  bool has_enough(Time now) const;
  bool takes_too_long(Time now) const;
  void finish_window(Time now, const Device& device);
  void finish_alone();
  void judge(Time now, const Device& device);
  void look_around(const Device& device);
  void favour(std::size_t kernel);
  std::size_t neediest() const;
  void rest(Time now);
  void next_probe(Time now);
  Outlook outlook() const;
  void enter(Phase phase, Division division, Time now);

  std::vector<Contender> contenders_;
  std::vector<double> alone_;
  Bounds bounds_;
  ProbeOptions options_;
  Phase phase_;
  Division best_;
  Division current_;
  std::optional<Outlook> measured_;
  std::optional<Fallback> fallback_;  // until the start has been measured
  std::vector<Division> untried_;     // the next one last
  std::vector<Division> tried_;
  BlockSpeeds speeds_;
  std::size_t solo_ = 0;  // whose turn it is alone
  Time start_{};          // of the window, or of the phase's rest
  Time rest_until_{};
};

}  // namespace gpushare
