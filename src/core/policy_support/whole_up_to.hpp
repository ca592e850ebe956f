// SPDX-License-Identifier: Apache-2.0
// Wraps any policy and runs short launches in their original, non-preemptible form. Preempting a launch takes some tens
// of microseconds, and preemptibility costs some percent of its time, so a launch that ends as soon as that is better
// left as it was written. The policy then decides between launches instead of between blocks. While a more urgent
// application is present, by its priority or by a latency bound, launches stay preemptible for its sake, and for some
// milliseconds longer: the next request may come as an application by itself, and a GPU has to drain before it runs
// non-preemptible launches on a part of its SMs.
//
// Suits: applications of many short launches. Fails: an application that cannot wait for the end of such a launch and
// has neither a priority nor a latency bound.
#pragma once

#include <limits>
#include <memory>

#include "core/engine/policy.hpp"
#include "core/policy_support/highest_urgency.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {

/// The option that every policy has; `usual` where it is not given.
inline Duration whole_up_to(const PolicyOptions& options, Duration usual) {
  return options.duration("whole_up_to_ns",
                          "launches predicted to end within this time run as they were written; left out: none", usual,
                          Duration(0), Duration(1'000'000'000));
}

class WholeUpTo : public Policy {
 public:
  WholeUpTo(std::unique_ptr<Policy> policy, Duration longest) : policy_(std::move(policy)), longest_(longest) {}

  void begin(std::uint64_t seed) override { policy_->begin(seed); }
  void check(const Application& application) const override { policy_->check(application); }
  bool admits(const RunningLaunch& launch, const State& state) override { return policy_->admits(launch, state); }
  void observe(const Event& event, const State& state) override {
    const int before = there_.highest();
    if (event.kind == EventKind::ApplicationEnded) there_.leave(event.application, event.time);
    if (event.kind == EventKind::LaunchArrived || event.kind == EventKind::PriorityChanged) {
      there_.come(event.application, urgency(event.application, state), event.time);
    }
    there_.forget_past(event.time);
    has_fallen_ = there_.highest() < before && there_.anybody_there();  // acted on at the next event
    policy_->observe(event, state);
  }
  bool wants(const Event& event) const override { return policy_->wants(event) || has_fallen_; }
  Plan decide(const State& state) const override {
    Plan plan = policy_->decide(state);
    for (Share& share : plan.shares) {
      const bool is_most_urgent = urgency(state.find(share.launch)->application, state) >= there_.highest();
      share.whole_up_to = is_most_urgent ? longest_ : Duration{};
    }
    return plan;
  }

 private:
  static int urgency(ApplicationId application, const State& state) {
    return state.application(application).latency ? std::numeric_limits<int>::max() : state.priority(application);
  }

  std::unique_ptr<Policy> policy_;
  Duration longest_;
  HighestUrgency there_;
  bool has_fallen_ = false;
};

}  // namespace gpushare
