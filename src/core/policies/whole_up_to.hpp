// SPDX-License-Identifier: Apache-2.0
// Any policy, with short launches left whole. To preempt a launch takes some tens of microseconds, and to be able to
// costs it some percent of its time; one that ends by itself as soon had better run as it was written. The policy then
// decides between launches where it would decide between blocks. While an application with a priority above 0 is there,
// everything stays preemptible.
//
// Suits: applications of many short launches. Fails: whoever cannot wait for the end of such a launch, and has not said
// so by a priority.
#pragma once

#include <cmath>
#include <memory>
#include <set>

#include "core/policies/options.hpp"
#include "core/policy.hpp"

namespace gpushare {

/// The option that every policy has; `usual` microseconds where it is not given.
inline double whole_up_to_us(const PolicyOptions& options, double usual) {
  return options.number("whole_up_to_us", usual, 0, 1e6);
}

class WholeUpTo : public Policy {
 public:
  WholeUpTo(std::unique_ptr<Policy> policy, double longest_us)
      : policy_(std::move(policy)), longest_(std::llrint(1e3 * longest_us)) {}

  void check(const Application& application) const override { policy_->check(application); }
  void observe(const Event& event, const State& state) override {
    if (event.kind == EventKind::ApplicationEnded) urgent_.erase(event.application);
    if (event.kind == EventKind::LaunchArrived || event.kind == EventKind::PriorityChanged) {
      if (state.priority(event.application) > 0) {
        urgent_.insert(event.application);
      } else {
        urgent_.erase(event.application);
      }
    }
    policy_->observe(event, state);
  }
  bool wants(const Event& event) const override { return policy_->wants(event); }
  Plan decide(const State& state) const override {
    Plan plan = policy_->decide(state);
    plan.whole_up_to = urgent_.empty() ? longest_ : Duration{};
    return plan;
  }

 private:
  std::unique_ptr<Policy> policy_;
  Duration longest_;
  std::set<ApplicationId> urgent_;
};

}  // namespace gpushare
