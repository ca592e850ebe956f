// SPDX-License-Identifier: Apache-2.0
// The seam between decisions and their execution. A policy sees the state and returns a plan; it never reads a clock,
// starts a thread or talks to a GPU, so the same policy drives the simulated and the real one, and a recorded run can
// be decided again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/engine/event.hpp"
#include "core/engine/plan.hpp"
#include "core/engine/state.hpp"

namespace gpushare {

class PolicyOptions;  // policy_support/options.hpp

class Policy {
 public:
  virtual ~Policy() = default;

  /// Called once, before all else. A randomized policy takes its random numbers from this seed and
  /// from nothing else: it differs between the repeats of a comparison and between policies, and in equal runs it is
  /// the same (policy_support/policy_seed.hpp).
  virtual void begin(std::uint64_t /*seed*/) {}

  /// Throws PolicyError for an application that this policy cannot serve. Called before the
  /// application arrives, and before a priority changes or a policy takes over.
  virtual void check(const Application& /*application*/) const {}

  /// Asked for each launch that has arrived, before observe(): are SMs reserved for it, or will they be soon? Then it
  /// starts at once (see Gpu::admit), ahead of all others and without a quota, until a plan names it: making and
  /// applying a plan takes longer than some launches run. Not asked for launches that arrived under an earlier policy.
  virtual bool admits(const RunningLaunch& /*launch*/, const State& /*state*/) { return false; }

  /// Called after every event, with the state that includes it. For predictors and memory; the default does nothing.
  virtual void observe(const Event& /*event*/, const State& /*state*/) {}

  /// Called after observe(): is a new plan needed? The default asks for one when a launch arrives or ends, when the
  /// plan's wake_at is reached, when a priority changes, and when other devices run more or fewer blocks of a launch
  /// than was expected. Until the next plan the last one holds. Of several events
  /// that the device knows already (Event::next_is_known), one plan for all comes after the last.
  virtual bool wants(const Event& event) const {
    return event.kind == EventKind::LaunchArrived || event.kind == EventKind::LaunchEnded ||
           event.kind == EventKind::DeadlineReached || event.kind == EventKind::PriorityChanged ||
           event.kind == EventKind::BlocksExpected;
  }

  /// The plan for this state. Must be a function of the events seen so far and nothing else. Never called when no
  /// launch is running. An empty plan stops every launch at the next block boundary.
  virtual Plan decide(const State& state) const = 0;
};

/// The quota that limits a launch by nothing but the SM itself.
inline Quota full_quota(const RunningLaunch& launch) { return Quota::everywhere(launch.max_residency); }

inline Share full_share(const RunningLaunch& launch) { return {.launch = launch.id, .quota = full_quota(launch)}; }

}  // namespace gpushare
