// SPDX-License-Identifier: Apache-2.0
// Between device and policy: what happens goes to the state, to those who look on and to the policy, and what the
// policy decides goes to the device. Runs of known work (engine.cpp) and of work that comes in by and by (open_run.cpp)
// share it.
#pragma once

#include <optional>
#include <span>

#include "core/engine.hpp"
#include "core/gpu.hpp"
#include "core/policy.hpp"

namespace gpushare {

class Dispatcher {
 public:
  Dispatcher(Gpu& gpu, Policy& policy, State state, std::span<RunObserver* const> observers)
      : gpu_(gpu), policy_(policy), observers_(observers), state_(std::move(state)) {}

  State& state() { return state_; }
  const State& state() const { return state_; }
  /// When the policy wants to be asked again, whatever happens.
  std::optional<Time> wake_at() const { return wake_at_; }
  /// Time has come this far, though no event says so.
  void advance_to(Time time) { now_ = time; }

  void deliver(const Event& event);
  /// Something that no device reports: an arrival, an end of an application.
  void deliver(EventKind kind, ApplicationId application);
  /// Hands an operation to the device; a launch has then arrived.
  void submit(const Submission& submission);
  /// wake_at() has been reached.
  void wake_policy();

 private:
  void decide();

  Gpu& gpu_;
  Policy& policy_;
  std::span<RunObserver* const> observers_;
  State state_;
  std::optional<Time> wake_at_;
  Time now_{};
};

}  // namespace gpushare
