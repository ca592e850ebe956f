// SPDX-License-Identifier: Apache-2.0
// Any policy, with short launches left whole. To preempt a launch takes some tens of microseconds, and to be able to
// costs it some percent of its time; one that ends by itself as soon had better run as it was written. The policy then
// decides between launches where it would decide between blocks.
//
// Suits: applications of many short launches. Fails: whoever cannot wait for the end of such a launch.
#pragma once

#include <memory>

#include "core/policy.hpp"

namespace gpushare {

class WholeUpTo : public Policy {
 public:
  WholeUpTo(std::unique_ptr<Policy> policy, Duration longest) : policy_(std::move(policy)), longest_(longest) {}

  void check(const Application& application) const override { policy_->check(application); }
  void observe(const Event& event, const State& state) override { policy_->observe(event, state); }
  bool wants(const Event& event) const override { return policy_->wants(event); }
  Plan decide(const State& state) const override {
    Plan plan = policy_->decide(state);
    plan.whole_up_to = longest_;
    return plan;
  }

 private:
  std::unique_ptr<Policy> policy_;
  Duration longest_;
};

}  // namespace gpushare
