// SPDX-License-Identifier: Apache-2.0
// SMs that are kept free for latency-critical launches (priority above 0), and for small ones that others hold up.
// Blocks cannot be interrupted, so that such a launch waits for somebody's block to end wherever it is put: on SMs that
// nobody else has it waits for nobody.
//
// Kept are SMs for two launches like the largest of the latest urgent ones, with an SM for every block as far as the
// share allows; of those that are held up, as many as hold one. Who would not fit has none. They are given back once no
// such launch has come for some time.
#pragma once

#include "core/engine/policy.hpp"
#include "core/tuning/guests.hpp"
#include "core/tuning/held_up.hpp"

namespace gpushare {

struct ReserveOptions {
  double share = 0;     ///< of the SMs, at most
  Duration patience{};  ///< from the arrival of the last such launch

  /// reserve; `patience` is an option of who keeps places, too.
  static ReserveOptions from(const PolicyOptions& options, Duration patience);
};

inline bool is_urgent(const RunningLaunch& launch) { return launch.priority > 0; }

class Reserve {
 public:
  explicit Reserve(const ReserveOptions& options) : options_(options) {}

  /// Is there room on the SMs that are kept already for an urgent launch that has just arrived, or will there be before
  /// anything could be planned for it? To be asked before observe(); then they are kept until it has ended, too.
  bool admits(const RunningLaunch& launch, const State& state);

  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// Are any SMs kept?
  bool is_kept(Time now) const { return sms_ > 0 && (now < until_ || guests_.admitted() > 0); }

  /// The plan without the others on the SMs that are kept.
  Plan applied_to(Plan plan, const State& state) const;

 private:
  /// Few enough SMs hold it at full residency.
  bool fits(const RunningLaunch& launch, const State& state) const;
  bool is_for(const RunningLaunch& launch, const State& state) const {
    return is_urgent(launch) || (held_up_.needs_room(launch.application) && fits(launch, state));
  }

  /// On the SMs that are kept.
  bool has_room_for(const RunningLaunch& launch) const;
  /// So many SMs are to be kept when such a launch comes.
  int wanted_for(const RunningLaunch& launch, const State& state) const;
  void keep(int wanted, Time now);
  Time kept_until(Time now) const;

  ReserveOptions options_;
  HeldUp held_up_;
  Guests guests_;
  int sms_ = 0;
  int wanted_ = 0;         // by launches of this epoch
  int wanted_before_ = 0;  // by those of the one before
  Time epoch_ends_{};
  Time until_{};  // for as long as nothing else is known
};

}  // namespace gpushare
