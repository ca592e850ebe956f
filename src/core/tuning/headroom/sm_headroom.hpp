// SPDX-License-Identifier: Apache-2.0
// Reserves SMs for latency-critical launches (priority above 0), and for small ones that others delay. Blocks are not
// interrupted, so on shared SMs such a launch waits for a block of another one to end; on reserved SMs it does not
// wait.
//
// Reserved are SMs for two launches like the largest of the latest urgent ones, with an SM for every block as far as
// the share allows; for delayed launches as many as hold one. A launch that would not fit has none. The SMs are given
// back once no such launch has come for some time.
#pragma once

#include "core/engine/policy.hpp"
#include "core/tuning/headroom/interference_detector.hpp"
#include "core/tuning/headroom/reserved_sm_usage.hpp"

namespace gpushare {

struct HeadroomOptions {
  double share = 0;     ///< of the SMs, at most
  Duration patience{};  ///< from the arrival of the last such launch

  /// The option `reserve_share`. The patience belongs to the options of co-scheduling, too.
  static HeadroomOptions from(const PolicyOptions& options, Duration patience);
};

inline bool is_urgent(const RunningLaunch& launch) { return launch.priority > 0; }

class SmHeadroom {
 public:
  explicit SmHeadroom(const HeadroomOptions& options) : options_(options) {}

  /// Is there room on reserved SMs for an urgent launch that has just arrived, or will there be before a plan could be
  /// made for it? To be asked before observe(). If so, the SMs stay reserved at least until it has ended.
  bool admits(const RunningLaunch& launch, const State& state);

  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// Are any SMs reserved?
  bool is_reserved(Time now) const { return sms_ > 0 && (now < until_ || usage_.admitted() > 0); }

  /// The plan with all other launches moved off the reserved SMs.
  Plan applied_to(Plan plan, const State& state) const;

 private:
  /// Do few enough SMs hold it at maximum residency?
  bool fits(const RunningLaunch& launch, const State& state) const;
  bool is_for(const RunningLaunch& launch, const State& state) const {
    return is_urgent(launch) || (interference_.needs_reserved_sms(launch.application) && fits(launch, state));
  }

  bool has_room_for(const RunningLaunch& launch, const Device& device) const;
  /// The SMs to be reserved when such a launch comes.
  int wanted_for(const RunningLaunch& launch, const State& state) const;
  void reserve(int wanted, Time now);
  Time reserved_until(Time now) const;

  HeadroomOptions options_;
  InterferenceDetector interference_;
  ReservedSmUsage usage_;
  int sms_ = 0;
  int wanted_ = 0;         // by launches of this epoch
  int wanted_before_ = 0;  // by those of the epoch before
  Time epoch_ends_{};
  Time until_{};  // unless more such launches come
};

}  // namespace gpushare
