// SPDX-License-Identifier: Apache-2.0
// Residency mixing (simultaneous multikernel: a number of blocks of each launch on every SM), or dedicated SMs where
// they promise more: the SM allocation with the greatest sum of weighted speeds, relative to those alone, according to
// the contention model (core/tuning/search.hpp). It stays in force in the gaps between an application's launches.
//
// Options: floor=0.3, the least speed of an application relative to its speed alone (if left out, half of an equal
// part: 0.25 for two), or the best possible for the slowest; antt=1.8, bound of the mean slowdown; patience_us=60, how
// long an allocation is reserved between launches; small_us=30, launches that take no longer alone just go first;
// caution=yes: where SMs serve the oldest block first, the first allocation is an equal partition, and an unequal one
// is tried if it promises 1.2 times as much, or 1.3 times with shared SMs (no: 1.01). Throughput is then measured, in
// this allocation and in others, for at most probe_share=0.25 of the time (0.02 where SMs cannot be shared, or an
// application has a minimum speed), in windows of probe_us=2000; the best allocation stays.
//
// A minimum speed of an application overrides that of the policy. A latency bound implies one: a launch that takes T
// alone with a bound of L needs T / L of its speed. Its allocation is reserved for longer (reserve_us=5000), and where
// no allocation keeps the bound its launches go first on every SM.
//
// Suits: kernels that use different resources of an SM, launched again and again. Fails: for kernels that use the same
// resources there is no gain, and both end late where one could have ended early; a co-run set that occurs only once
// does not repay the search.
#include "core/engine/policy.hpp"
#include "core/tuning/mixer.hpp"

namespace gpushare {
namespace {

class Mix : public Policy {
 public:
  explicit Mix(const MixOptions& options) : mixer_(options) {}

  void observe(const Event& event, const State& state) override { mixer_.observe(event, state); }
  bool wants(const Event& event) const override { return mixer_.wants(event); }
  Plan decide(const State& state) const override { return mixer_.plan(state); }

 private:
  Mixer mixer_;
};

}  // namespace

std::unique_ptr<Policy> make_mix(const PolicyOptions& options) {
  return std::make_unique<Mix>(MixOptions::from(options));
}

}  // namespace gpushare
