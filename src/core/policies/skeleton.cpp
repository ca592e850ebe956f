// SPDX-License-Identifier: Apache-2.0
// A policy to copy. State here what it does and where it is from (paper, section).
//
// Suits: which workloads. Fails: on which.
//
// To make it real: rename the file, the class and make_skeleton, write decide(), and add one line to the table in
// registry.cpp. This one is not in the table; a test keeps it compiling and correct.
#include "core/engine/policy.hpp"

namespace gpushare {
namespace {

class Skeleton : public Policy {
 public:
  // For predictors and memory: called after every event. Delete it if the state at decision time is enough.
  void observe(const Event& /*event*/, const State& /*state*/) override {}

  // Delete it if arrivals and ends of launches are the only moments that matter.
  bool wants(const Event& event) const override { return Policy::wants(event); }

  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) plan.shares.push_back(full_share(launch));
    return plan;
  }
};

}  // namespace

std::unique_ptr<Policy> make_skeleton(const PolicyOptions& /*options*/) { return std::make_unique<Skeleton>(); }

}  // namespace gpushare
