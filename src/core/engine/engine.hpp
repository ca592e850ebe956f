// SPDX-License-Identifier: Apache-2.0
// The loop that every run goes through, on every device: the next event, the new state, perhaps a new plan.
#pragma once

#include <span>
#include <vector>

#include "core/engine/gpu.hpp"
#include "core/engine/policy.hpp"
#include "core/engine/trace.hpp"

namespace gpushare {

/// Observes a run while it happens; traces and meters are observers.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Called for every event, after the state includes it and before the policy decides.
  virtual void saw(const Event& event) = 0;
  /// Called for every plan, before the device applies it.
  virtual void decided(const Plan& /*plan*/) {}
};

/// Runs the whole workload on the device under the policy and returns when the last application has ended.
/// Throws InvalidInput for a workload that the device cannot run, and PolicyError for a policy that returns an
/// impossible plan or leaves work waiting for ever.
void run(Gpu& gpu, Policy& policy, const Workload& workload, std::span<RunObserver* const> observers = {});

/// Feeds a recorded run's events to a policy, without a device, and returns its decisions.
std::vector<Decision> decide_again(const Trace& trace, const Device& device, const Workload& workload, Policy& policy);

}  // namespace gpushare
