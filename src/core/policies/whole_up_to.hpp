// SPDX-License-Identifier: Apache-2.0
// Any policy, with short launches left whole. To preempt a launch takes some tens of microseconds, and to be able to
// costs it some percent of its time; one that ends by itself as soon had better run as it was written. The policy then
// decides between launches where it would decide between blocks. While an application is there that is more urgent, by
// its priority or by a latency bound, launches stay preemptible, for its sake.
//
// Suits: applications of many short launches. Fails: whoever cannot wait for the end of such a launch, and has not said
// so by either.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

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
  bool admits(const RunningLaunch& launch, const State& state) override { return policy_->admits(launch, state); }
  void observe(const Event& event, const State& state) override {
    const int before = highest_;
    if (event.kind == EventKind::ApplicationEnded) leaves(event.application);
    if (event.kind == EventKind::LaunchArrived || event.kind == EventKind::PriorityChanged) {
      has_urgency(event.application, urgency(event.application, state));
    }
    has_fallen_ = highest_ < before && !urgencies_.empty();
    policy_->observe(event, state);
  }
  bool wants(const Event& event) const override { return policy_->wants(event) || has_fallen_; }
  Plan decide(const State& state) const override {
    Plan plan = policy_->decide(state);
    for (Share& share : plan.shares) {
      const bool gives_way_to_nobody = urgency(state.find(share.launch)->application, state) >= highest_;
      share.whole_up_to = gives_way_to_nobody ? longest_ : Duration{};
    }
    return plan;
  }

 private:
  static int urgency(ApplicationId application, const State& state) {
    return state.application(application).latency ? std::numeric_limits<int>::max() : state.priority(application);
  }

  void has_urgency(ApplicationId application, int urgency) {
    const auto [known, is_new] = urgencies_.try_emplace(application, urgency);
    if (!is_new && known->second == urgency) return;
    known->second = urgency;
    find_highest();
  }

  void leaves(ApplicationId application) {
    if (urgencies_.erase(application) > 0) find_highest();
  }

  void find_highest() {
    highest_ = std::numeric_limits<int>::min();
    for (const auto& [application, urgency] : urgencies_) highest_ = std::max(highest_, urgency);
  }

  std::unique_ptr<Policy> policy_;
  Duration longest_;
  std::map<ApplicationId, int> urgencies_;  // of those that are there
  int highest_ = std::numeric_limits<int>::min();
  bool has_fallen_ = false;
};

}  // namespace gpushare
