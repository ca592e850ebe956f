// SPDX-License-Identifier: Apache-2.0
// Any policy, with short launches left whole. To preempt a launch takes some tens of microseconds, and to be able to
// costs it some percent of its time; one that ends by itself as soon had better run as it was written. The policy then
// decides between launches where it would decide between blocks. While an application is there that is more urgent, by
// its priority or by a latency bound, launches stay preemptible, for its sake, and for some milliseconds longer: the
// next request may be an application of its own, and before a GPU leaves launches whole on a part of it all stand
// still.
//
// Suits: applications of many short launches. Fails: whoever cannot wait for the end of such a launch, and has not said
// so by either.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

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
    if (event.kind == EventKind::ApplicationEnded) urgencies_.erase(event.application);
    if (event.kind == EventKind::LaunchArrived || event.kind == EventKind::PriorityChanged) {
      urgencies_[event.application] = urgency(event.application, state);
    }
    if (concerns(event) || (falls_at_ && event.time >= *falls_at_)) find_highest(event.time);
    has_fallen_ = highest_ < before && !urgencies_.empty();  // seen at the next event: whoever runs has some
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
  static constexpr Duration patience{5'000'000};

  static int urgency(ApplicationId application, const State& state) {
    return state.application(application).latency ? std::numeric_limits<int>::max() : state.priority(application);
  }

  static bool concerns(const Event& event) {
    return event.kind == EventKind::ApplicationEnded || event.kind == EventKind::LaunchArrived ||
           event.kind == EventKind::PriorityChanged;
  }

  void find_highest(Time now) {
    int highest_there = std::numeric_limits<int>::min();
    for (const auto& [application, urgency] : urgencies_) highest_there = std::max(highest_there, urgency);
    if (highest_there < highest_ && !falls_at_) falls_at_ = now + patience;
    if (highest_there < highest_ && now < *falls_at_) return;
    highest_ = highest_there;
    falls_at_.reset();
  }

  std::unique_ptr<Policy> policy_;
  Duration longest_;
  std::map<ApplicationId, int> urgencies_;  // of those that are there
  int highest_ = std::numeric_limits<int>::min();
  std::optional<Time> falls_at_;  // whoever was so urgent has gone
  bool has_fallen_ = false;
};

}  // namespace gpushare
